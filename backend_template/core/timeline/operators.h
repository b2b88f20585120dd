// Tracks torch's current operator in each thread while a profile records.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/Stream.h>

#include <cstdint>

namespace outback::core {

struct operator_place {
  uint64_t in_operator = 0;  // the innermost operator or range; 0: none
  uint64_t in_range = 0;     // the innermost range; 0: none
};

/// Returns the calling thread's current operator and range.
operator_place place_here(uint64_t profile) noexcept;

/// Returns the system's id of the calling thread.
int32_t thread_here() noexcept;

}  // namespace outback::core
