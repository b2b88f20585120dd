#include "backend_template/portable/engine/kernel_cache.h"

#include <c10/util/Exception.h>

#include <map>
#include <mutex>
#include <set>
#include <tuple>
#include <utility>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/memory/exit.h"
#include "backend_template/core/runtime/runtime.h"

namespace outback::portable {
namespace {

// Leaked: operators run until the process ends.
struct all_kernels {
  std::mutex mutex;
  std::map<std::tuple<c10::DeviceIndex, std::string, std::string>, kernels::packed_kernel> found;
  std::set<std::pair<c10::DeviceIndex, std::string>> refused;
};
all_kernels& all() {
  static all_kernels& made = *new all_kernels;
  return made;
}

// True for a device without memory, which may have some later, and for a device that is lost.
bool says_nothing_of_the_module(const c10::Error& error) {
  if (dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr) return true;
  const auto* failure = dynamic_cast<const c10::AcceleratorError*>(&error);
  return failure != nullptr && failure->get_error_code() == OUTBACK_DEVICE_LOST;
}

}  // namespace

const kernels::packed_kernel& find_kernel(c10::DeviceIndex device, const std::string& module,
                                          const std::string& name) {
  const std::tuple key(device, module, name);
  {
    const std::lock_guard lock(all().mutex);
    if (const auto found = all().found.find(key); found != all().found.end()) return found->second;
    if (all().refused.count({device, module}) != 0) throw no_kernel();
  }
  // Without the lock: it calls the driver and may take seconds.
  try {
    const auto found = kernels::find_packed(c10::Device(core::device_type, device), module, name);
    const std::lock_guard lock(all().mutex);
    return all().found.try_emplace(key, found).first->second;
  } catch (const c10::Error& error) {
    if (says_nothing_of_the_module(error)) throw;
    bool is_new = false;
    {
      const std::lock_guard lock(all().mutex);
      is_new = all().refused.emplace(device, module).second;
    }
    if (is_new) {
      core::warn(
          core::backend_name(), ": the operators of the kernels ", module,
          " run over copies, since these kernels do not load: ", error.what_without_backtrace());
    }
    throw no_kernel();
  }
}

}  // namespace outback::portable
