// What core gives back when the process ends. It matters only where somebody counts what is left:
// under a layer that reports leaks at exit (OUTBACK_VALIDATE=1), the memory that the caches keep
// for their next use would look like leaks of the program.
#pragma once

namespace outback::core {

/// Registers a function with std::atexit that gives the cached device memory and pinned memory back
/// to the runtime. It waits for work that is under way, at most five seconds a device, and gives
/// back nothing if work goes on after that.
///
/// Does nothing without such a layer: memory goes with the process, which ends faster so. Call it
/// once the runtime has started, so that the function runs before the runtime's own end. Only the
/// first call counts. Throws c10::Error if std::atexit fails.
void give_back_caches_at_exit();

}  // namespace outback::core
