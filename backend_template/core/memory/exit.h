// Gives the caches' memory back when the process ends. This matters only under a layer that reports
// leaks at exit (OUTBACK_VALIDATE=1): there, memory that the caches keep for later use would look
// like a leak of the program.
#pragma once

namespace outback::core {

/// Registers a function with std::atexit that gives the cached device memory and pinned memory back
/// to the runtime. The function waits for pending work, at most five seconds for each device, and
/// gives nothing back if work is still pending then.
///
/// Does nothing without such a layer: the process ends faster if the system frees its memory. Call
/// it after the runtime has started, so that the function runs before the runtime's own functions
/// at exit. Only the first call has an effect. Throws c10::Error if std::atexit fails.
void give_back_caches_at_exit();

/// Has that function call `give_back` too, for what else is kept until the process ends. The
/// function must not throw. Thread-safe; a few functions at most.
void give_back_at_exit(void (*give_back)() noexcept);

}  // namespace outback::core
