// The host memory that a runtime pinned, and the texts for ranges that cannot be registered. The
// host_registration slots use it.
#pragma once

#include <cstddef>
#include <string>

#include "backend_template/runtimes/address_ranges.hpp"

namespace outback {

/// A range of pinned host memory, in bytes.
struct pinned_range {
  void* base;
  std::size_t size;
  bool registered;  // by host_registration.add; false: allocated by host_memory.alloc
};

/// May be used from any thread.
class pinned_ranges : public address_ranges<pinned_range> {
 public:
  /// Adds a registered range. Throws outback::invalid_argument, and adds nothing, if the range
  /// overlaps a known range or does not fit into the address space.
  void add_registered(void* base, std::size_t size);
  /// Removes a registered range. Throws outback::invalid_argument, and removes nothing, if no
  /// registered range begins at `base`.
  void take_registered(const void* base);
};

/// Throws outback::invalid_argument for a range that overlaps the range at `met`. `what` says what
/// that other range is.
[[noreturn]] void refuse_range(const void* base, std::size_t size, const void* met,
                               std::size_t met_size, const std::string& what);

}  // namespace outback
