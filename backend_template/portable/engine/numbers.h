// The numbers that an operator takes beside its tensors, such as alpha.
#pragma once

#include <c10/core/Scalar.h>
#include <c10/core/ScalarType.h>
#include <c10/util/overflows.h>

#include <array>
#include <cstdint>
#include <optional>
#include <type_traits>

namespace outback::portable {

/// A number as both kinds of kernels take it.
struct number {
  double real = 0;
  int64_t whole = 0;
  std::optional<c10::Scalar> given = std::nullopt;  // where the operator has a Scalar
};

inline number number_of(const c10::Scalar& value) {
  if (value.isFloatingPoint()) {
    const double real = value.toDouble();
    // Out of range of int64_t only where no kernel of integers reads it.
    const bool fits = real > -9.2e18 && real < 9.2e18;
    return {real, fits ? static_cast<int64_t>(real) : 0, value};
  }
  const int64_t whole = value.to<int64_t>();
  return {static_cast<double>(whole), whole, value};
}

/// Returns false if `value` is out of the range of `dtype`, which PyTorch refuses.
inline bool fits(const c10::Scalar& value, c10::ScalarType dtype) {
  const auto fits_in = [&]<class T>(T /*zero*/) {
    return value.isFloatingPoint() ? !c10::overflows<T>(value.toDouble())
                                   : !c10::overflows<T>(value.to<int64_t>());
  };
  switch (dtype) {
    case c10::kByte:
      return fits_in(uint8_t{});
    case c10::kChar:
      return fits_in(int8_t{});
    case c10::kShort:
      return fits_in(int16_t{});
    case c10::kInt:
      return fits_in(int32_t{});
    case c10::kLong:
      return fits_in(int64_t{});
    case c10::kHalf:
      return fits_in(c10::Half{});
    case c10::kBFloat16:
      return fits_in(c10::BFloat16{});
    case c10::kFloat:
      return fits_in(float{});
    default:  // every number is a bool, and Scalar has no more than a double
      return true;
  }
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
