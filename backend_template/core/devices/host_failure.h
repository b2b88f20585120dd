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
#include "outback/runtime.h"

namespace outback::core {

/// Keeps `what`, which is not "", for the next call that waits for the device or for one of its
/// streams. `event`, a literal, says what has failed. If a failure is kept already, that one stays
/// and this one is dropped. Allocates nothing. `status` is a failed slot's, or OUTBACK_OK if it was
/// none.
void report_host_failure(c10::DeviceIndex device, const char* event, std::string what,
                         outback_status status = OUTBACK_OK) noexcept;
/// Keeps the exception that is being handled in the same way. Only inside a `catch`.
void report_handled(c10::DeviceIndex device, const char* event) noexcept;

/// For code that must not throw: keeps the failure of a slot, which its runtime reports only once,
/// for the next call that waits. Returns true for OUTBACK_OK; OUTBACK_NOT_READY is no failure. Call
/// it on the thread that called the slot, before another slot.
bool keep_failure(outback_status status, const char* slot, c10::DeviceIndex device) noexcept;

namespace detail {
// By device, true while a failure is kept: the common case needs no lock.
inline constinit std::array<std::atomic<bool>, max_devices> has_host_failure{};
// The slow path of `check_host_failure`. Returns if another thread has thrown the failure.
void throw_host_failure(c10::DeviceIndex device);
}  // namespace detail

/// Whether a failure is kept for the device.
inline bool keeps_host_failure(c10::DeviceIndex device) noexcept {
  return detail::has_host_failure[static_cast<size_t>(device)].load(std::memory_order_acquire);
}

/// Throws the failure that is kept for the device, and forgets it: as a c10::AcceleratorError if a
/// slot had failed, otherwise as a c10::Error (RuntimeError). Returns if there is none, which costs
/// one load.
inline void check_host_failure(c10::DeviceIndex device) {
  if (C10_UNLIKELY(keeps_host_failure(device))) detail::throw_host_failure(device);
}

}  // namespace outback::core
