#include "backend_template/portable/engine/device.h"

#include "backend_template/core/kernels/portable_choice.h"
#include "backend_template/core/runtime/runtime.h"
#include "backend_template/core/twin/twin.h"
#include "outback/runtime.h"

namespace outback::portable {
namespace {

bool is_served(c10::DeviceIndex device) {
  const core::portable_choice chosen = core::portable_devices();
  if (chosen == core::portable_choice::never || core::runtime().kernels == nullptr) return false;
  if (core::twin_of(device)) return false;
  return chosen == core::portable_choice::always || !core::is_host_addressable(device);
}

}  // namespace

// If two threads ask at once, both find the same.
bool detail::ask(c10::DeviceIndex device) {
  const bool yes = is_served(device);
  served[device].store(yes ? answer::yes : answer::no, std::memory_order_relaxed);
  return yes;
}

bool has_float64(c10::DeviceIndex device) {
  return (core::device_info(device).flags & OUTBACK_NO_FLOAT64) == 0;
}

}  // namespace outback::portable
