// The types that portable kernels are compiled for.
#pragma once

#include <c10/core/ScalarType.h>

#include <array>
#include <bit>
#include <cstdint>
#include <optional>

namespace outback::portable {

/// A type of memory for which there are kernels; the names of kernels end with it. The last four
/// are those of kernels that move elements and do not compute.
enum class number_type : uint8_t { f32, f16, bf16, f64, i64, b8, u8, u16, u32, u64 };

inline constexpr std::array type_names{"f32", "f16", "bf16", "f64", "i64",
                                       "b8",  "u8",  "u16",  "u32", "u64"};

inline const char* name_of(number_type type) {
  return type_names[static_cast<size_t>(type)];
}

/// Returns the type of kernels that move elements of 1, 2, 4 or 8 bytes.
constexpr number_type type_of_size(int64_t bytes) {
  const int place = std::countr_zero(static_cast<uint64_t>(bytes));
  return static_cast<number_type>(static_cast<int>(number_type::u8) + place);
}

/// Returns the type with kernels for contiguous memory of `dtype`, if there is one.
constexpr std::optional<number_type> type_of_memory(c10::ScalarType dtype) {
  switch (dtype) {
    case c10::kFloat:
      return number_type::f32;
    case c10::kHalf:
      return number_type::f16;
    case c10::kBFloat16:
      return number_type::bf16;
    default:
      return std::nullopt;
  }
}

/// Returns the type in which kernels compute with values of `dtype`: i64 for integers and bool, f32
/// for floating-point types up to 32 bits.
constexpr number_type type_computed_in(c10::ScalarType dtype) {
  switch (dtype) {
    case c10::kFloat:
    case c10::kHalf:
    case c10::kBFloat16:
      return number_type::f32;
    case c10::kDouble:
      return number_type::f64;
    default:
      return number_type::i64;
  }
}

/// Returns true if kernels can read and write `dtype` (portable/kernels/shape.h). float64 only on
/// devices that have it.
constexpr bool is_storable(c10::ScalarType dtype) {
  switch (dtype) {
    case c10::kByte:
    case c10::kChar:
    case c10::kShort:
    case c10::kInt:
    case c10::kLong:
    case c10::kHalf:
    case c10::kFloat:
    case c10::kDouble:
    case c10::kBool:
    case c10::kBFloat16:
      return true;
    default:
      return false;
  }
}

}  // namespace outback::portable
