// The pages of the operating system, in which memory is mapped.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <limits>
#include <string>

#include "outback/runtime_error.hpp"

namespace outback {

/// Returns the size of a page in bytes. May be called from any thread; asks the operating system
/// once.
inline std::size_t page_size() noexcept {
  static const auto size = std::size_t(sysconf(_SC_PAGESIZE));
  return size;
}

/// Returns `size` in bytes, rounded up to whole pages. Throws outback::out_of_memory if `size` plus
/// one page does not fit into a size_t.
inline std::size_t whole_pages(std::size_t size) {
  const std::size_t page = page_size();
  if (size > std::numeric_limits<std::size_t>::max() - 2 * page) {
    throw out_of_memory("no memory has " + std::to_string(size) + " bytes");
  }
  return (size + page - 1) / page * page;
}

}  // namespace outback
