// Failures that no caller could receive: an operator fails inside a graph's replay, on a thread of
// the runtime, or a slot fails in a deleter. Core keeps the failure until a call waits for the
// device or finds one of its streams done; that call throws it. Each device has its own failure and
// its own lock. All functions are thread-safe.
#pragma once

#include <c10/core/Device.h>
#include <c10/macros/Macros.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <string>

#include "backend_template/core/devices/device.h"
#include "outback/runtime.h"

namespace outback::core {

/// Keeps `what`, which is not "", for the next call that waits for the device or for one of its
/// streams. `event`, a string literal, names what failed. If the device has a failure already,
/// drops the new one. Allocates nothing. `status` is the status of the failed slot, or OUTBACK_OK
/// if no slot failed.
void report_host_failure(c10::DeviceIndex device, const char* event, std::string what,
                         outback_status status = OUTBACK_OK) noexcept;
/// Keeps the exception that is being handled, as `report_host_failure` does. Call it only inside a
/// `catch`.
void report_handled(c10::DeviceIndex device, const char* event) noexcept;

/// For code that must not throw: keeps the failure of a slot for the next call that waits, since
/// the runtime reports it only once. Returns true for OUTBACK_OK. Keeps nothing for
/// OUTBACK_NOT_READY, which is no failure. Call it on the thread that called the slot, before
/// another slot.
bool keep_failure(outback_status status, const char* slot, c10::DeviceIndex device) noexcept;

namespace detail {
// For each device, true while core keeps a failure. Without a failure, callers need no lock.
inline constinit std::array<std::atomic<bool>, max_devices> has_host_failure{};
// The slow path of `check_host_failure`. Returns normally if another thread has thrown the failure
// meanwhile.
void throw_host_failure(c10::DeviceIndex device);
}  // namespace detail

/// Returns true if core keeps a failure for the device.
inline bool keeps_host_failure(c10::DeviceIndex device) noexcept {
  return detail::has_host_failure[static_cast<size_t>(device)].load(std::memory_order_acquire);
}

/// Throws the failure that is kept for the device, and forgets it: as a c10::AcceleratorError if a
/// slot had failed, otherwise as a c10::Error (RuntimeError). Without a failure it returns, which
/// costs one load.
inline void check_host_failure(c10::DeviceIndex device) {
  if (C10_UNLIKELY(keeps_host_failure(device))) detail::throw_host_failure(device);
}

}  // namespace outback::core
