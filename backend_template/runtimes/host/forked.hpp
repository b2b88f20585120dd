// The error for a forked child, in which the threads of its parent do not exist.
#pragma once

#include <cstdint>

namespace outback::host {

/// Throws outback::runtime_error if fork_count() is no longer `then`, the count at the time when
/// the object in question started to depend on a thread. The text tells the user what to do
/// instead. May be called from any thread; waits for nothing.
void check_not_forked(uint32_t then);

}  // namespace outback::host
