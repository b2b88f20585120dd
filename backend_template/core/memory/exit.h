// What is given back when the process ends, where somebody counts what is left.
#pragma once

namespace outback::core {

/// Under a layer that tells leaks at exit (OUTBACK_VALIDATE=1): what the caches keep for the next
/// use goes back to the runtime before that, so that what is told is what the program forgot. Waits
/// for work that is under way, a few seconds at most.
/// Without such a layer nothing is done: memory goes with the process, and faster so. After the
/// runtime has started, so that it has not ended yet when this runs; the first call counts.
void give_back_caches_at_exit();

}  // namespace outback::core
