// Functions of the host in a stream's order.
#pragma once

#include <c10/core/Stream.h>

#include <functional>

namespace outback::core {

/// Runs `function` once, when `stream` gets there, on a thread of the runtime's: it must not use
/// the device, nor wait for it. What it throws becomes a warning, since nobody is there to catch
/// it. On a device that is lost before, it never runs.
///
/// Without the runtime's group callbacks this waits for the stream and runs `function` on the
/// calling thread.
void enqueue_host_callback(const c10::Stream& stream, std::function<void()> function);

}  // namespace outback::core
