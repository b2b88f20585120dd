#include "backend_template/core/kernels/portable_choice.h"

#include "backend_template/core/devices/device.h"
#include "backend_template/core/runtime/environment.h"
#include "backend_template/core/runtime/runtime.h"
#include "backend_template/core/twin/twin.h"

namespace outback::core {
namespace {

// Not atomic, since it is written before the backend can be used.
portable_choice chosen = portable_choice::apart;

}  // namespace

void read_portable_variable() {
  const auto read = from_environment([] {
    return outback::detail::choice_variable("OUTBACK_PORTABLE", {"apart", "always", "never"});
  });
  chosen = static_cast<portable_choice>(read.value_or(0));
}

bool allows_portable_kernels() noexcept {
  return chosen != portable_choice::never;
}

bool runs_portable_kernels(c10::DeviceIndex device) {
  if (chosen == portable_choice::never || runtime().kernels == nullptr) return false;
  if (twin_of(device)) return false;
  return chosen == portable_choice::always || !is_host_addressable(device);
}

}  // namespace outback::core
