#include "backend_template/portable/engine/device.h"

#include "backend_template/core/kernels/portable_choice.h"
#include "outback/runtime.h"

namespace outback::portable {

// If two threads ask at once, both find the same.
bool detail::ask(c10::DeviceIndex device) {
  const bool yes = core::runs_portable_kernels(device);
  served[device].store(yes ? answer::yes : answer::no, std::memory_order_relaxed);
  return yes;
}

bool has_float64(c10::DeviceIndex device) {
  return (core::device_info(device).flags & OUTBACK_NO_FLOAT64) == 0;
}

}  // namespace outback::portable
