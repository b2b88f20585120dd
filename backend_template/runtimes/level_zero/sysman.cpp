#include "backend_template/runtimes/level_zero/sysman.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

namespace outback::level_zero {
namespace {

// All that `enumerate` lists; nothing where the loader has no such function, or the driver refuses.
template <class Handle, class Enumerate>
std::vector<Handle> listed(Enumerate enumerate, zes_device_handle_t device) {
  uint32_t count = 0;
  if (device == nullptr || enumerate == nullptr) return {};
  if (enumerate(device, &count, nullptr) != ZE_RESULT_SUCCESS) return {};
  std::vector<Handle> all(count);
  if (count != 0 && enumerate(device, &count, all.data()) != ZE_RESULT_SUCCESS) return {};
  all.resize(count);
  return all;
}

}  // namespace

std::optional<memory_amount> sysman::memory() {
  if (api_.zesMemoryGetState == nullptr) return std::nullopt;
  memory_amount sum = {};
  bool any = false;
  for (const auto module : listed<zes_mem_handle_t>(api_.zesDeviceEnumMemoryModules, device_)) {
    zes_mem_state_t state = {};
    state.stype = ZES_STRUCTURE_TYPE_MEM_STATE;
    if (api_.zesMemoryGetState(module, &state) != ZE_RESULT_SUCCESS) return std::nullopt;
    sum.free += state.free;
    sum.total += state.size;
    any = true;
  }
  return any && sum.total != 0 ? std::optional(sum) : std::nullopt;
}

std::optional<std::vector<outback_process>> sysman::processes() {
  if (api_.zesDeviceProcessesGetState == nullptr || device_ == nullptr) return std::nullopt;
  zes_process_state_t blank = {};
  blank.stype = ZES_STRUCTURE_TYPE_PROCESS_STATE;
  std::vector<zes_process_state_t> states;
  for (;;) {
    auto count = uint32_t(states.size());
    const ze_result_t result =
        api_.zesDeviceProcessesGetState(device_, &count, states.empty() ? nullptr : states.data());
    if (result != ZE_RESULT_SUCCESS && result != ZE_RESULT_ERROR_INVALID_SIZE) return std::nullopt;
    const bool all = result == ZE_RESULT_SUCCESS && count <= states.size();
    // One that starts meanwhile needs room too.
    states.resize(all ? count : count + 8, blank);
    if (all) break;
  }
  std::vector<outback_process> known;
  for (const zes_process_state_t& state : states) {
    known.push_back({.pid = state.processId, .memory = state.memSize});
  }
  return known;
}

// The first call has nothing to compare with, and waits for a moment.
template <class Read>
std::optional<double> sysman::growth(std::optional<reading>& last, const Read& read) {
  const auto first = [&] {
    const std::lock_guard lock(mutex_);
    return last;
  }();
  const std::optional<reading> before = first ? first : read();
  if (!before) return std::nullopt;
  std::optional<reading> now = first ? read() : std::nullopt;
  if (!now || now->time_us <= before->time_us) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    now = read();
  }
  if (!now || now->time_us <= before->time_us) return std::nullopt;
  const std::lock_guard lock(mutex_);
  last = now;
  return double(now->amount - before->amount) / double(now->time_us - before->time_us);
}

std::optional<int64_t> sysman::utilization() {
  if (api_.zesEngineGetProperties == nullptr || api_.zesEngineGetActivity == nullptr) {
    return std::nullopt;
  }
  for (const auto engine : listed<zes_engine_handle_t>(api_.zesDeviceEnumEngineGroups, device_)) {
    zes_engine_properties_t properties = {};
    properties.stype = ZES_STRUCTURE_TYPE_ENGINE_PROPERTIES;
    if (api_.zesEngineGetProperties(engine, &properties) != ZE_RESULT_SUCCESS) continue;
    if (properties.type != ZES_ENGINE_GROUP_ALL) continue;
    const auto busy = growth(last_activity_, [&]() -> std::optional<reading> {
      zes_engine_stats_t stats = {};
      if (api_.zesEngineGetActivity(engine, &stats) != ZE_RESULT_SUCCESS) return std::nullopt;
      return reading{stats.activeTime, stats.timestamp};
    });
    if (busy) return std::clamp<int64_t>(int64_t(*busy * 100), 0, 100);
  }
  return std::nullopt;
}

std::optional<int64_t> sysman::temperature() {
  if (api_.zesTemperatureGetProperties == nullptr || api_.zesTemperatureGetState == nullptr) {
    return std::nullopt;
  }
  for (const auto sensor :
       listed<zes_temp_handle_t>(api_.zesDeviceEnumTemperatureSensors, device_)) {
    zes_temp_properties_t properties = {};
    properties.stype = ZES_STRUCTURE_TYPE_TEMP_PROPERTIES;
    if (api_.zesTemperatureGetProperties(sensor, &properties) != ZE_RESULT_SUCCESS) continue;
    const bool whole =
        properties.type == ZES_TEMP_SENSORS_GPU || properties.type == ZES_TEMP_SENSORS_GLOBAL;
    double celsius = 0;
    if (whole && api_.zesTemperatureGetState(sensor, &celsius) == ZE_RESULT_SUCCESS) {
      return int64_t(celsius * 1000);
    }
  }
  return std::nullopt;
}

std::optional<int64_t> sysman::power() {
  if (api_.zesPowerGetEnergyCounter == nullptr) return std::nullopt;
  for (const auto domain : listed<zes_pwr_handle_t>(api_.zesDeviceEnumPowerDomains, device_)) {
    // Microjoules in microseconds are watts.
    const auto watts = growth(last_energy_, [&]() -> std::optional<reading> {
      zes_power_energy_counter_t counter = {};
      if (api_.zesPowerGetEnergyCounter(domain, &counter) != ZE_RESULT_SUCCESS) return std::nullopt;
      return reading{counter.energy, counter.timestamp};
    });
    if (watts) return int64_t(*watts * 1000);
  }
  return std::nullopt;
}

std::optional<int64_t> sysman::clock_rate() {
  if (api_.zesFrequencyGetProperties == nullptr || api_.zesFrequencyGetState == nullptr) {
    return std::nullopt;
  }
  for (const auto domain : listed<zes_freq_handle_t>(api_.zesDeviceEnumFrequencyDomains, device_)) {
    zes_freq_properties_t properties = {};
    properties.stype = ZES_STRUCTURE_TYPE_FREQ_PROPERTIES;
    zes_freq_state_t state = {};
    state.stype = ZES_STRUCTURE_TYPE_FREQ_STATE;
    if (api_.zesFrequencyGetProperties(domain, &properties) != ZE_RESULT_SUCCESS) continue;
    if (properties.type != ZES_FREQ_DOMAIN_GPU) continue;
    if (api_.zesFrequencyGetState(domain, &state) != ZE_RESULT_SUCCESS) continue;
    if (state.actual > 0) return int64_t(state.actual * 1e6);  // MHz; below 0 it is not known
  }
  return std::nullopt;
}

sysman_handles::sysman_handles(const driver_api& api, bool in_core) : in_core_(in_core) {
  if (in_core || api.zesInit == nullptr || api.zesDriverGet == nullptr ||
      api.zesDeviceGet == nullptr || api.zesDeviceGetProperties == nullptr) {
    return;
  }
  if (api.zesInit(0) != ZE_RESULT_SUCCESS) return;
  uint32_t count = 0;
  if (api.zesDriverGet(&count, nullptr) != ZE_RESULT_SUCCESS) return;
  std::vector<zes_driver_handle_t> drivers(count);
  if (count == 0 || api.zesDriverGet(&count, drivers.data()) != ZE_RESULT_SUCCESS) return;
  for (const auto driver : drivers) {
    uint32_t devices = 0;
    if (api.zesDeviceGet(driver, &devices, nullptr) != ZE_RESULT_SUCCESS) continue;
    std::vector<zes_device_handle_t> all(devices);
    if (api.zesDeviceGet(driver, &devices, all.data()) != ZE_RESULT_SUCCESS) continue;
    for (const auto device : all) {
      zes_device_properties_t properties = {};
      properties.stype = ZES_STRUCTURE_TYPE_DEVICE_PROPERTIES;
      if (api.zesDeviceGetProperties(device, &properties) != ZE_RESULT_SUCCESS) continue;
      apart_.push_back({device, properties.core.uuid});
    }
  }
}

zes_device_handle_t sysman_handles::of(ze_device_handle_t device,
                                       const ze_device_uuid_t& uuid) const {
  if (in_core_) return reinterpret_cast<zes_device_handle_t>(device);
  for (const known& each : apart_) {
    if (std::memcmp(each.uuid.id, uuid.id, sizeof(uuid.id)) == 0) return each.device;
  }
  return nullptr;
}

}  // namespace outback::level_zero
