// The sizes that the device allocator hands out: requests are rounded up so that freed memory fits
// the next request of about the same size. Steps of 64 bytes up to 1 KiB, then eight steps to a
// doubling: at most one part in eight is lost.
#pragma once

#include <bit>
#include <cstddef>

namespace outback::core {

inline constexpr size_t smallest_step = 64;
inline constexpr size_t small_limit = 1024;
inline constexpr int small_classes = small_limit / smallest_step;
inline constexpr int steps_per_doubling = 8;
inline constexpr int largest_log2 = 47;
inline constexpr int size_class_count = small_classes + (largest_log2 - 10) * steps_per_doubling;

/// Requests above this do not fit any device.
inline constexpr size_t largest_request = size_t{1} << largest_log2;

struct size_class {
  int index;    // 0 to size_class_count - 1
  size_t size;  // what is allocated for it
};

/// `request` is 1 to largest_request.
constexpr size_class size_class_of(size_t request) {
  if (request <= small_limit) {
    const size_t steps = (request - 1) / smallest_step;
    return {static_cast<int>(steps), (steps + 1) * smallest_step};
  }
  const int log2 = static_cast<int>(std::bit_width(request - 1)) - 1;  // at least 10
  const size_t step = size_t{1} << (log2 - 3);
  const size_t steps = (request - 1) / step;  // 8 to 15
  return {small_classes + (log2 - 10) * steps_per_doubling + static_cast<int>(steps) -
              steps_per_doubling,
          (steps + 1) * step};
}

static_assert(size_class_of(1).index == 0 && size_class_of(64).size == 64 &&
              size_class_of(65).index == 1);
static_assert(size_class_of(1024).index == small_classes - 1 &&
              size_class_of(1025).index == small_classes);
static_assert(size_class_of(1025).size == 1152 && size_class_of(2048).size == 2048);
static_assert(size_class_of(largest_request).index == size_class_count - 1);

}  // namespace outback::core
