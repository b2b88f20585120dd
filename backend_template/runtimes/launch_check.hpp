// What each runtime checks of a launch before its driver sees the launch, in the same words.
#pragma once

#include <cstdint>
#include <string>

#include "outback/runtime.h"
#include "outback/runtime_error.hpp"

namespace outback {

/// Throws outback::invalid_argument unless the launch has `sizes.size()` arguments, each with the
/// size in bytes that `sizes` has. `kernel` is the kernel's name for the text.
template <class Sizes>
void check_argument_sizes(const std::string& kernel, const outback_launch& launch,
                          const Sizes& sizes) {
  if (launch.argument_count != sizes.size()) {
    throw invalid_argument("the kernel " + kernel + " has " + std::to_string(sizes.size()) +
                           " arguments, and the launch gives " +
                           std::to_string(launch.argument_count));
  }
  for (uint32_t i = 0; i < launch.argument_count; ++i) {
    if (launch.arguments[i].size == sizes[i]) continue;
    throw invalid_argument("argument " + std::to_string(i) + " of the kernel " + kernel + " has " +
                           std::to_string(sizes[i]) + " bytes, and the launch gives " +
                           std::to_string(launch.arguments[i].size));
  }
}

/// Throws outback::invalid_argument if the launch gives a number for a pointer to memory, or the
/// reverse. `is_memory` says which arguments are pointers; null if nobody knows.
inline void check_argument_kinds(const std::string& kernel, const outback_launch& launch,
                                 const uint8_t* is_memory) {
  for (uint32_t i = 0; is_memory != nullptr && i < launch.argument_count; ++i) {
    if ((is_memory[i] != 0) == (launch.arguments[i].is_memory != 0)) continue;
    throw invalid_argument("argument " + std::to_string(i) + " of the kernel " + kernel +
                           (is_memory[i] != 0
                                ? " is a pointer to memory, and the launch gives a number"
                                : " is a number, and the launch gives a pointer to memory"));
  }
}

/// Throws outback::invalid_argument if the kernel declares more local memory than a group gets:
/// some drivers end the process at its first launch. Both sizes are in bytes.
inline void check_declared_local(const std::string& kernel, uint64_t declared, uint64_t most) {
  if (declared <= most) return;
  throw invalid_argument("the kernel " + kernel + " declares " + std::to_string(declared) +
                         " bytes of local memory, and a group of the device gets at most " +
                         std::to_string(most));
}

/// Throws outback::invalid_argument if a group of the launch has more than `most_items` items or
/// asks for more than `most_local` bytes of local memory.
inline void check_group(const std::string& kernel, const outback_launch& launch,
                        uint64_t most_items, uint64_t most_local) {
  const uint64_t items = uint64_t(launch.items[0]) * launch.items[1] * launch.items[2];
  if (items > most_items) {
    throw invalid_argument("the kernel " + kernel + " runs at most " + std::to_string(most_items) +
                           " items a group, and the launch asks for " + std::to_string(items));
  }
  if (launch.local_size > most_local) {
    throw invalid_argument(
        "a group of the kernel " + kernel + " gets at most " + std::to_string(most_local) +
        " bytes of local memory, and the launch asks for " + std::to_string(launch.local_size));
  }
}

}  // namespace outback
