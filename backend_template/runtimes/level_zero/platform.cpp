#include "backend_template/runtimes/level_zero/platform.hpp"

#include "backend_template/runtimes/level_zero/result.hpp"
#include "backend_template/runtimes/level_zero/sysman_handles.hpp"
#include "outback/runtime_error.hpp"

namespace outback::level_zero {

platform::platform(const level_zero_options& options) {
  problem_ = load(options.loader, api_);
  if (!problem_.empty()) return;
  try {
    list_devices(options);
    if (devices_.empty()) problem_ = "Level Zero was initialised, but its drivers list no GPU";
  } catch (const runtime_error& error) {
    problem_ = std::string("Level Zero cannot be used: ") + error.what();
    devices_.clear();
  }
}

std::vector<ze_driver_handle_t> platform::initialise() {
  uint32_t count = 0;
  if (api_.zeInitDrivers != nullptr) {
    newer::init_driver_type_desc desc = {newer::init_driver_type, nullptr,
                                         newer::init_driver_type_gpu};
    check(api_.zeInitDrivers(&count, nullptr, &desc), "zeInitDrivers");
    std::vector<ze_driver_handle_t> all(count);
    if (count != 0) check(api_.zeInitDrivers(&count, all.data(), &desc), "zeInitDrivers");
    all.resize(count);
    return all;
  }
  check(api_.zeInit(ZE_INIT_FLAG_GPU_ONLY), "zeInit");
  check(api_.zeDriverGet(&count, nullptr), "zeDriverGet");
  std::vector<ze_driver_handle_t> all(count);
  if (count != 0) check(api_.zeDriverGet(&count, all.data()), "zeDriverGet");
  all.resize(count);
  return all;
}

void platform::list_devices(const level_zero_options& options) {
  for (const auto handle : initialise()) {
    auto& of = *drivers_.emplace_back(std::make_unique<driver>(api_, handle, options));
    for (const auto gpu : of.gpus()) {
      devices_.push_back(std::make_unique<device>(of, gpu, int32_t(devices_.size())));
    }
  }
  if (devices_.empty()) return;
  const sysman_handles sysman(api_, options.sysman);
  for (const auto& each : devices_) {
    ze_device_properties_t properties = {};
    properties.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES;
    check(api_.zeDeviceGetProperties(each->handle(), &properties), "zeDeviceGetProperties");
    each->sensors().attach(sysman.of(each->handle(), properties));
  }
}

void platform::check_not_forked() const {
  if (!forked()) [[likely]]
    return;
  throw runtime_error(OUTBACK_INTERNAL,
                      "this process was forked after Level Zero had been initialised, which the "
                      "driver does not survive: start the child without fork (\"spawn\" or "
                      "\"forkserver\")");
}

int32_t platform::index_of(ze_device_handle_t handle) const noexcept {
  for (const auto& each : devices_) {
    if (each->handle() == handle) return each->index();
  }
  return OUTBACK_HOST;
}

}  // namespace outback::level_zero
