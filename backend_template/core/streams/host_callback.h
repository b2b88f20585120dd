// Functions of the host that run in a stream's order, after the work before them.
// torch.<name>._sleep is one; a vendor's own code may add others. (Graphs enqueue their callbacks
// in host_program.cpp.)
#pragma once

#include <c10/core/Stream.h>

#include <functional>

namespace outback::core {

/// Enqueues `function` on `stream`. It runs once, when the work before it is done, on a thread of
/// the runtime's; the stream goes on when it has returned. It must not use the device, or wait for
/// it. An exception that it throws becomes a warning, since nobody could catch it. If the device is
/// lost before, it never runs.
///
/// If the runtime does not have the group callbacks, this function waits for the stream and runs
/// `function` on the calling thread. Starts the backend. Throws c10::ValueError (ValueError) for an
/// empty function, and what `check` throws. Thread-safe.
void enqueue_host_callback(const c10::Stream& stream, std::function<void()> function);

}  // namespace outback::core
