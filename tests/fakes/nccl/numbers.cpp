#include "tests/fakes/nccl/numbers.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <algorithm>
#include <concepts>
#include <cstring>
#include <type_traits>

namespace fake_nccl {
namespace {

// Calls `body` with a value of the dtype's type.
template <class Body>
auto with_type(dtype of, const Body& body) {
  switch (of) {
    case dtype::int8:
      return body(std::int8_t());
    case dtype::uint8:
      return body(std::uint8_t());
    case dtype::int32:
      return body(std::int32_t());
    case dtype::uint32:
      return body(std::uint32_t());
    case dtype::int64:
      return body(std::int64_t());
    case dtype::uint64:
      return body(std::uint64_t());
    case dtype::float16:
      return body(__half());
    case dtype::float32:
      return body(float());
    case dtype::float64:
      return body(double());
    case dtype::bfloat16:
      return body(__nv_bfloat16());
    case dtype::float8_e4m3:
      return body(__nv_fp8_e4m3());
    case dtype::float8_e5m2:
      return body(__nv_fp8_e5m2());
  }
  return body(std::uint8_t());
}

// What a reduction computes with.
template <class T>
struct wide_of {
  using type = float;
};
template <class T>
  requires std::is_arithmetic_v<T>
struct wide_of<T> {
  using type = T;
};

template <class T>
T read(const std::byte* from, std::size_t index) {
  T value;
  std::memcpy(&value, from + index * sizeof(T), sizeof(T));
  return value;
}

template <class Wide>
Wide combine(reduction how, Wide a, Wide b) {
  if (how == maximum) return std::max(a, b);
  if (how == minimum) return std::min(a, b);
  if constexpr (std::integral<Wide>) {
    // Without the overflow that C++ leaves undefined.
    const auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
    return static_cast<Wide>(how == product ? x * y : x + y);
  } else {
    return how == product ? a * b : a + b;
  }
}

template <class T>
void reduce_as(reduction how, std::span<const std::byte* const> parts, std::size_t count,
               const double* factors, std::byte* to) {
  using wide = typename wide_of<T>::type;
  const auto scaled = [&](std::size_t part, std::size_t i) {
    const wide value = static_cast<wide>(read<T>(parts[part], i));
    return factors == nullptr ? value : static_cast<wide>(value * static_cast<wide>(factors[part]));
  };
  for (std::size_t i = 0; i < count; ++i) {
    wide all = scaled(0, i);
    for (std::size_t part = 1; part < parts.size(); ++part) {
      all = combine(how, all, scaled(part, i));
    }
    if (how == average) all = static_cast<wide>(all / static_cast<wide>(parts.size()));
    const T rounded = static_cast<T>(all);
    std::memcpy(to + i * sizeof(T), &rounded, sizeof(T));
  }
}

}  // namespace

std::size_t size_of(dtype given) {
  if (given < dtype::int8 || given > dtype::float8_e5m2) return 0;
  return with_type(given, [](auto value) { return sizeof(value); });
}

const char* name_of(dtype given) {
  static constexpr const char* names[] = {"int8",    "uint8",    "int32",   "uint32",
                                          "int64",   "uint64",   "float16", "float32",
                                          "float64", "bfloat16", "e4m3",    "e5m2"};
  return names[static_cast<int>(given)];
}

const char* name_of(reduction given) {
  static constexpr const char* names[] = {"sum", "product", "maximum", "minimum", "average"};
  return given < built_in ? names[given] : "multiplied sum";
}

double read_number(dtype of, const std::byte* from) {
  return with_type(of, [&](auto value) {
    using type = decltype(value);
    return static_cast<double>(static_cast<typename wide_of<type>::type>(read<type>(from, 0)));
  });
}

void reduce(dtype of, reduction how, std::span<const std::byte* const> parts, std::size_t count,
            const double* factors, std::byte* to) {
  with_type(of, [&](auto value) { reduce_as<decltype(value)>(how, parts, count, factors, to); });
}

}  // namespace fake_nccl
