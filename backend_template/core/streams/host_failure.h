// Failures that nobody was waiting for: an operator that failed inside a graph's replay, on a
// thread of the runtime's; what a stream told a deleter. The failure is kept until somebody waits
// for the device, or finds one of its streams done; that call throws it. Each device has its own
// failure and its own lock. All functions are thread-safe.
#pragma once

#include <c10/core/Device.h>
#include <c10/macros/Macros.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <string>

#include "backend_template/core/devices/device.h"

namespace outback::core {

/// Keeps `what`, which is not "", for the next call that waits for the device or for one of its
/// streams. `event`, a literal, says what has failed. If a failure is kept already, that one stays
/// and this one is dropped. Allocates nothing.
void report_host_failure(c10::DeviceIndex device, const char* event, std::string what) noexcept;

namespace detail {
// By device, true while a failure is kept: the common case needs no lock.
inline constinit std::array<std::atomic<bool>, max_devices> has_host_failure{};
// The slow path of `check_host_failure`. Returns if another thread has thrown the failure.
void throw_host_failure(c10::DeviceIndex device);
}  // namespace detail

/// Throws the failure that is kept for the device as a c10::Error (RuntimeError), and forgets it.
/// Returns if there is none, which costs one load.
inline void check_host_failure(c10::DeviceIndex device) {
  if (C10_UNLIKELY(
          detail::has_host_failure[static_cast<size_t>(device)].load(std::memory_order_acquire))) {
    detail::throw_host_failure(device);
  }
}

}  // namespace outback::core
