// The memory that the host runtime knows: which range belongs to which device, and which range is
// pinned. Slots use it to check pointers and for host_memory.info.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend_template/runtimes/address_ranges.hpp"
#include "backend_template/runtimes/host/device_pages.hpp"

namespace outback::host {

/// The alignment of every allocation in bytes. Torch's own CPU kernels assume 64 (c10::gAlignment).
inline constexpr uint32_t alignment = 64;

struct allocation {
  void* base;
  std::size_t size;  // bytes, as asked for
  int32_t device;    // the owner; OUTBACK_HOST for pinned host memory
  void* bytes;       // where the memory is: `base`, unless `base` is a protected address
  // The storage of the memory: `pages` for a device, the result of malloc for pinned memory. Both
  // members are null for another process's memory.
  device_pages* pages = nullptr;
  void* block = nullptr;

  bool is_of_another_process() const noexcept { return pages == nullptr && block == nullptr; }
};

/// May be used from any thread.
class allocations : public address_ranges<allocation> {
 public:
  /// Removes and returns the allocation that begins at `base`. Throws outback::invalid_argument,
  /// and removes nothing, if none begins there, if it belongs to another device than `device`, or
  /// if it is another process's memory.
  allocation take(void* base, int32_t device);

  /// Returns whether one allocation of `device` contains all `size` bytes from `ptr` on.
  bool holds(int32_t device, const void* ptr, std::size_t size) const;
};

}  // namespace outback::host
