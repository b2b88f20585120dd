// Finds the kernels of packed modules (outback/kernels/packed.h) and keeps them.
#pragma once

#include <c10/core/Device.h>
#include <c10/macros/Macros.h>

#include <array>
#include <atomic>
#include <exception>
#include <string>

#include "outback/kernels/packed.h"

namespace outback::portable {

/// There is no such kernel on the device, so the next provider serves the call. Thrown before
/// anything is written.
class no_kernel final : public std::exception {
 public:
  const char* what() const noexcept override { return "no portable kernel for this call"; }
};

/// Returns the kernel `name` of the packed module `module`, which lives until the process ends.
///
/// Throws no_kernel if the driver refuses the module. The first time a warning says so, with the
/// driver's words. Throws what the driver's failure is (core::fail) if the device is lost or has no
/// memory for the module. Loading a module may take seconds. Thread-safe.
const kernels::packed_kernel& find_kernel(c10::DeviceIndex device, const std::string& module,
                                          const std::string& name);

/// The kernels of one operator, `count` of them for each device. A later look costs one load.
template <size_t count>
class kernel_cache {
 public:
  /// Returns kernel number `which` on `device`: what `find`, which calls find_kernel, returns the
  /// first time.
  template <class Find>
  const kernels::packed_kernel& get(c10::DeviceIndex device, size_t which, const Find& find) {
    if (C10_UNLIKELY(static_cast<size_t>(device) >= known_.size())) return find();
    std::atomic<const kernels::packed_kernel*>& known = known_[device][which];
    const kernels::packed_kernel* found = known.load(std::memory_order_acquire);
    if (C10_UNLIKELY(found == nullptr)) {
      found = &find();
      known.store(found, std::memory_order_release);
    }
    return *found;
  }

 private:
  // A process that uses more devices looks the name up each time.
  std::array<std::array<std::atomic<const kernels::packed_kernel*>, count>, 8> known_{};
};

}  // namespace outback::portable
