// Are we still in the process that started the driver, or its threads?
#pragma once

#include <cstdint>

namespace outback {

/// How many forks lie between this process and the one that first asked. What was started at
/// another count does not exist here. From any thread; after the first call one relaxed load.
uint32_t fork_count() noexcept;

}  // namespace outback
