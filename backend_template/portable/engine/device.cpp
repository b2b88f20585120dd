#include "backend_template/portable/engine/device.h"

#include "backend_template/core/kernels/portable_choice.h"

namespace outback::portable {

// If two threads ask at once, both find the same.
bool detail::ask(c10::DeviceIndex device) {
  const bool yes = core::runs_portable_kernels(device);
  served[device].store(yes ? answer::yes : answer::no, std::memory_order_relaxed);
  return yes;
}

}  // namespace outback::portable
