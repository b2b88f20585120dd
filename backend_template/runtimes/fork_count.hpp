// Counts the forks of this process. A runtime uses it to notice that it runs in a forked child, in
// which the driver and the threads that it started do not exist.
#pragma once

#include <cstdint>
#include <string>

#include "outback/runtime_error.hpp"

namespace outback {

/// Returns how many forks lie between this process and the one that called this function first: 0
/// in that process itself, 1 in its child.
///
/// A runtime keeps the count from when it started the driver or a thread. If the count differs
/// later, the caller is a forked child, and what was started does not exist there.
///
/// May be called from any thread. The first call registers a pthread_atfork handler; each later
/// call is one relaxed atomic load.
uint32_t fork_count() noexcept;

/// Throws outback::runtime_error if fork_count() is no longer `then`. The text says that the
/// process was forked after `what` ("CUDA had been started"), and names both ways out for a user
/// who did not choose the fork: a data loader's worker may be the child. May be called from any
/// thread.
inline void check_not_forked(uint32_t then, const char* what) {
  if (fork_count() == then) [[likely]]
    return;
  throw runtime_error(OUTBACK_INTERNAL,
                      std::string("this process was forked after ") + what +
                          "; use the device first in the child, or start the child without fork "
                          "(\"spawn\")");
}

}  // namespace outback
