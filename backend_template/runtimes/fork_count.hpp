// Counts the forks of this process. A runtime uses it to notice that it runs in a forked child, in
// which the driver and the threads that it started do not exist.
#pragma once

#include <cstdint>

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

}  // namespace outback
