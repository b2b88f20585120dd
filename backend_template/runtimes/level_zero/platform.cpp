#include "backend_template/runtimes/level_zero/platform.hpp"

#include "backend_template/runtimes/level_zero/result.hpp"
#include "backend_template/runtimes/level_zero/sysman_handles.hpp"
#include "outback/runtime_error.hpp"

namespace outback::level_zero {
namespace {

// The driver has the same result for all of these causes.
constexpr const char* what_it_takes =
    ". It takes a driver (Intel's is libze_intel_gpu.so.1) and the right to open "
    "/dev/dri/renderD*; ZE_AFFINITY_MASK hides devices";

}  // namespace

platform::platform(const level_zero_options& options) {
  problem_ = load(options.loader, api_);
  if (!problem_.empty()) return;
  try {
    list_devices(options);
    if (devices_.empty()) {
      problem_ = "Level Zero was initialised, but its drivers list no GPU";
      problem_ += what_it_takes;
    }
  } catch (const runtime_error& error) {
    problem_ = std::string("Level Zero cannot be used: ") + error.what() + what_it_takes;
    // Some may be listed already, but one that failed means that the loader is not called again.
    devices_.clear();
  }
}

std::vector<ze_driver_handle_t> platform::drivers_of_now() {
  newer::init_driver_type_desc desc = {newer::init_driver_type, nullptr,
                                       newer::init_driver_type_gpu};
  std::vector<ze_driver_handle_t> all;
  check(list_all(all, [&](auto... to) { return api_.zeInitDrivers(to..., &desc); }),
        api_.zeInitDrivers.name);
  return all;
}

std::vector<ze_driver_handle_t> platform::drivers_of_old() {
  call(api_.zeInit, ZE_INIT_FLAG_GPU_ONLY);
  std::vector<ze_driver_handle_t> all;
  check(list_all(all, [&](auto... to) { return api_.zeDriverGet(to...); }), api_.zeDriverGet.name);
  return all;
}

std::vector<ze_driver_handle_t> platform::initialise() {
  if (!api_.zeInitDrivers) return drivers_of_old();
  // A loader that has zeInitDrivers may still have older drivers, which know only zeInit. If both
  // fail, both texts are told.
  std::string refused;
  try {
    if (auto all = drivers_of_now(); !all.empty()) return all;
  } catch (const runtime_error& error) {
    refused = error.what();
  }
  try {
    return drivers_of_old();
  } catch (const runtime_error& error) {
    throw runtime_error(error.status(), (refused.empty() ? "" : refused + "; ") + error.what());
  }
}

void platform::list_devices(const level_zero_options& options) {
  for (const auto handle : initialise()) {
    auto& of = *drivers_.emplace_back(std::make_unique<driver>(api_, handle, options));
    for (const auto gpu : of.gpus()) {
      devices_.push_back(std::make_unique<device>(of, gpu, int32_t(devices_.size())));
    }
  }
  if (devices_.empty()) return;
  // Sysman is asked last, and only if there are devices: without it the runtime works, and has no
  // sensors.
  const sysman_handles sysman(api_, options.sysman);
  for (const auto& each : devices_) {
    ze_device_properties_t properties = {};
    properties.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES;
    call(api_.zeDeviceGetProperties, each->handle(), &properties);
    each->sensors().attach(sysman.of(each->handle(), properties));
  }
}

int32_t platform::index_of(ze_device_handle_t handle) const noexcept {
  for (const auto& each : devices_) {
    if (each->handle() == handle) return each->index();
  }
  return OUTBACK_HOST;
}

}  // namespace outback::level_zero
