// Counts the forks of this process. With the count a runtime notices that it runs in a forked
// child, where neither the driver nor the threads that the runtime started exist.
#pragma once

#include <cstdint>
#include <string>

#include "outback/runtime_error.hpp"

namespace outback {

/// Returns how many forks lie between the process that first called this function and this process:
/// 0 in that process itself, 1 in its child.
///
/// A runtime stores the count when it starts the driver or a thread. If the count differs later,
/// the caller is a forked child, where that driver or thread does not exist.
///
/// May be called from any thread. The first call registers a pthread_atfork handler; each later
/// call costs one relaxed atomic load.
uint32_t fork_count() noexcept;

/// Throws outback::runtime_error if fork_count() is no longer `then`. The text says that the
/// process was forked after `what` ("CUDA had been started"). It also names two remedies for a user
/// who did not write the fork, since the child may be a data loader's worker. May be called from
/// any thread.
inline void check_not_forked(uint32_t then, const char* what) {
  if (fork_count() == then) [[likely]]
    return;
  throw runtime_error(OUTBACK_INTERNAL,
                      std::string("this process was forked after ") + what +
                          "; use the device first in the child, or start the child without fork "
                          "(\"spawn\")");
}

}  // namespace outback
