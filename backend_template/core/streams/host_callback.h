// Runs functions of the host in a stream's order, after the earlier work. torch.<name>._sleep is
// one; a vendor's own code may add others. (Graphs enqueue their callbacks in host_program.cpp.)
#pragma once

#include <c10/core/Stream.h>

#include <functional>

namespace outback::core {

/// Enqueues `function` on `stream`. The function runs once, when the earlier work is done, on a
/// thread of the runtime; the stream goes on after it has returned. It must not use the device or
/// wait for it. If it throws, the exception becomes a warning, since no caller could catch it. If
/// the device is lost first, the function never runs.
///
/// If the runtime does not have the group callbacks, this function waits for the stream and runs
/// `function` on the calling thread. Starts the backend. Throws c10::ValueError (ValueError) for an
/// empty function, and what `check` throws. Thread-safe.
void enqueue_host_callback(const c10::Stream& stream, std::function<void()> function);

}  // namespace outback::core
