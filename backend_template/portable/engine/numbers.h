// The numbers that an operator takes beside its tensors, such as alpha.
#pragma once

#include <ATen/core/Scalar.h>

#include <array>
#include <cstdint>
#include <type_traits>

namespace outback::portable {

/// A number as both kinds of kernels take it.
struct number {
  double real = 0;
  int64_t whole = 0;
};

inline number number_of(const c10::Scalar& value) {
  if (value.isFloatingPoint()) {
    const double real = value.toDouble();
    // Out of range of int64_t only where no kernel of integers reads it.
    const bool fits = real > -9.2e18 && real < 9.2e18;
    return {real, fits ? static_cast<int64_t>(real) : 0};
  }
  const int64_t whole = value.to<int64_t>();
  return {static_cast<double>(whole), whole};
}

/// s, t and u of a body (portable/kernels/elementwise/), in the order of the operator's arguments.
struct numbers {
  std::array<number, 3> all;
  size_t count = 0;

  numbers() = default;
  template <class... Values>
  explicit numbers(const Values&... values) {
    (take(values), ...);
  }

  /// Adds an argument that is a number, and ignores all others.
  template <class Argument>
  void take(const Argument& argument) {
    if constexpr (std::is_same_v<Argument, c10::Scalar>) {
      all.at(count++) = number_of(argument);
    } else if constexpr (std::is_same_v<Argument, number>) {
      all.at(count++) = argument;
    } else if constexpr (std::is_floating_point_v<Argument>) {
      all.at(count++) = {static_cast<double>(argument), static_cast<int64_t>(argument)};
    }
  }
};

}  // namespace outback::portable
