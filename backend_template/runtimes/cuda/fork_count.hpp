// Are we still in the process that started CUDA?
#pragma once

#include <cstdint>

namespace outback::cuda {

/// How many forks lie between this process and the one that first asked. CUDA does not survive one.
uint32_t fork_count() noexcept;

}  // namespace outback::cuda
