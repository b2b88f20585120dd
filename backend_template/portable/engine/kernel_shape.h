// `shape` in portable/kernels/shape.h: how the operands of a kernel lie in memory.
#pragma once

#include <array>
#include <cstdint>

namespace outback::portable {

inline constexpr int most_dims = 8;

/// Dimension 0 is the innermost one. The kernel says in which units a stride is.
struct kernel_shape {
  int32_t dims = 0;
  std::array<int32_t, 4> types{};  // c10::ScalarType
  int32_t reserved = 0;
  std::array<int64_t, most_dims> size{};
  std::array<std::array<int64_t, most_dims>, 4> stride{};
};

}  // namespace outback::portable
