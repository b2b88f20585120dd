#include "backend_template/core/memory/allocator/memory_limit.h"

#include <c10/util/Exception.h>

#include <array>
#include <atomic>

#include "backend_template/core/devices/device.h"

namespace outback::core {
namespace {

using fraction_table = std::array<std::atomic<double>, max_devices>;

// Never destroyed: memory may be allocated while the process ends.
fraction_table& fractions() {
  static fraction_table& all = []() -> fraction_table& {
    auto& made = *new fraction_table;
    for (auto& fraction : made) fraction.store(1.0, std::memory_order_relaxed);
    return made;
  }();
  return all;
}

}  // namespace

void set_memory_fraction(c10::DeviceIndex device, double fraction) {
  // The words of torch.cuda.set_per_process_memory_fraction.
  TORCH_CHECK_VALUE(fraction >= 0 && fraction <= 1, "Invalid fraction value: ", fraction,
                    ". Allowed range: 0~1");
  fractions()[resolve_index(device)].store(fraction, std::memory_order_relaxed);
}

double memory_fraction(c10::DeviceIndex device) noexcept {
  return fractions()[device].load(std::memory_order_relaxed);
}

size_t memory_limit(c10::DeviceIndex device) {
  const size_t total = device_info(device).memory_size;
  // A double cannot hold every size: without a limit the size is returned as it is.
  const double fraction = memory_fraction(device);
  return fraction >= 1 ? total : static_cast<size_t>(static_cast<double>(total) * fraction);
}

}  // namespace outback::core
