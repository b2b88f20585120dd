// Which operator of torch each thread is in while a profile records.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/Stream.h>

#include <cstdint>

namespace outback::core {

struct operator_place {
  uint64_t in_operator = 0;  // the innermost operator or range; 0: none
  uint64_t in_range = 0;     // the innermost range; 0: none
};

/// Returns where the calling thread is.
operator_place place_here(uint64_t profile) noexcept;

/// Returns the calling thread's number, as the system counts it.
int32_t thread_here() noexcept;

}  // namespace outback::core
