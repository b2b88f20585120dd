// What went wrong on the host in a stream's order, where nobody could be told at once.
#pragma once

#include <c10/core/Device.h>
#include <c10/macros/Macros.h>

#include <atomic>
#include <string>

namespace outback::core {

/// Keeps `what` for the next wait for the device or one of its streams, which throws it. The first
/// one stays. Thread-safe.
void report_host_failure(c10::DeviceIndex device, const std::string& what) noexcept;

namespace detail {
extern std::atomic<bool> any_host_failure;
void throw_host_failure(c10::DeviceIndex device);
}  // namespace detail

/// Throws c10::Error, once, with what was reported for the device. One load where there is nothing.
inline void check_host_failure(c10::DeviceIndex device) {
  if (C10_UNLIKELY(detail::any_host_failure.load(std::memory_order_acquire))) {
    detail::throw_host_failure(device);
  }
}

}  // namespace outback::core
