// Are we still in the process that started the threads?
#pragma once

#include <cstdint>

namespace outback::host {

/// How many forks lie between this process and the one that first asked. A thread started at
/// another count does not exist here.
uint32_t fork_count() noexcept;

/// Throws outback::runtime_error, saying what to do instead, if the count is no longer `then`.
void check_not_forked(uint32_t then);

}  // namespace outback::host
