#include "backend_template/core/allocator/memory_limit.h"

#include <c10/util/Exception.h>

#include <array>
#include <atomic>

#include "backend_template/core/device.h"

namespace outback::core {
namespace {

// What is withheld of a device, so that zero means nothing is.
std::array<std::atomic<double>, max_devices> withheld{};

}  // namespace

void set_memory_fraction(c10::DeviceIndex device, double fraction) {
  TORCH_CHECK_VALUE(fraction >= 0 && fraction <= 1, "Invalid fraction value: ", fraction,
                    ". Allowed range: 0~1");
  withheld[resolve_index(device)].store(1 - fraction, std::memory_order_relaxed);
}

double memory_fraction(c10::DeviceIndex device) noexcept {
  return 1 - withheld[device].load(std::memory_order_relaxed);
}

size_t memory_limit(c10::DeviceIndex device) {
  const size_t total = device_info(device).memory_size;
  const double part = withheld[device].load(std::memory_order_relaxed);
  if (C10_LIKELY(part == 0)) return total;
  return static_cast<size_t>(static_cast<double>(total) * (1 - part));
}

}  // namespace outback::core
