// On which devices portable kernels serve operators.
#pragma once

#include <c10/core/Device.h>
#include <c10/macros/Macros.h>

#include <array>
#include <atomic>

#include "backend_template/core/devices/device.h"

namespace outback::portable {

namespace detail {
enum class answer : int8_t { unknown, no, yes };
inline constinit std::array<std::atomic<answer>, core::max_devices> served{};
bool ask(c10::DeviceIndex device);
}  // namespace detail

/// Returns true if portable kernels serve the device (core::runs_portable_kernels). Costs one load.
/// The first call for a device starts the backend, and throws what the start throws.
inline bool serves(c10::DeviceIndex device) {
  const detail::answer known = detail::served[device].load(std::memory_order_relaxed);
  if (C10_LIKELY(known != detail::answer::unknown)) return known == detail::answer::yes;
  return detail::ask(device);
}

}  // namespace outback::portable
