// Records of allocated memory: on a device, and pinned memory of the host.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "backend_template/runtimes/address_ranges.hpp"

namespace outback::level_zero {

/// A range that zeMemAllocDevice returned.
struct allocation {
  void* base;
  std::size_t size;  // bytes, as asked for
  uint64_t serial;   // unique in the process; interprocess handles contain it
};

using allocations = address_ranges<allocation>;

class driver;

/// A range that zeMemAllocHost returned for host_memory.alloc.
struct pinned_memory {
  void* base;
  std::size_t size;  // bytes
  driver* of;        // the driver whose context has the memory
};

/// Returns the serial of a new allocation. All devices share one count, because another process
/// identifies an allocation only by its serial. May be called from any thread.
inline uint64_t next_serial() noexcept {
  static std::atomic<uint64_t> serials{0};
  return ++serials;
}

}  // namespace outback::level_zero
