// A module of kernels that a build has compiled and packed into a library, as
// outback_add_kernels() generates it. Includes no torch. Find kernels with
// outback/kernels/packed.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "outback/runtime.h"

namespace outback {

/// One module in one format. `items` is 0 for text that is for any number of them.
struct packed_module {
  const char* name;
  outback_format format;
  uint32_t items;
  uint32_t has_float64;  // whether its kernels may compute with float64
  const char* begin;
  const char* end;
};

namespace detail {

/// Makes modules known to `kernels::find_packed`: to the one of this library or, from the library
/// of a backend's runtime, to those of all libraries of the backend. The array lives until the
/// process ends.
class packed_modules {
 public:
  template <std::size_t count>
  explicit packed_modules(const packed_module (&all)[count]) {
    add(all, count);
  }

 private:
  static void add(const packed_module* first, std::size_t count);
};

}  // namespace detail

}  // namespace outback
