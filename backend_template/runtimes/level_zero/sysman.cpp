#include "backend_template/runtimes/level_zero/sysman.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "backend_template/runtimes/level_zero/result.hpp"

namespace outback::level_zero {
namespace {

// Returns all handles that `enumerate` lists, or none if the loader has no such function or the
// driver refuses.
template <class Handle, class F>
std::vector<Handle> listed(const library_function<F>& enumerate, zes_device_handle_t device) {
  std::vector<Handle> all;
  if (device == nullptr || !enumerate) return all;
  list_all(all, [&](auto... to) { return enumerate(device, to...); });
  return all;
}

}  // namespace

template <class Handle, class Properties, class Enumerate, class Describe, class Fits>
std::vector<Handle> sysman::own(const Enumerate& enumerate, const Describe& describe,
                                zes_structure_type_t stype, const Fits& fits) const {
  if (!describe) return {};
  std::vector<Handle> of_device, of_tiles;
  for (const Handle each : listed<Handle>(enumerate, place_.device)) {
    Properties properties = {};
    properties.stype = stype;
    if (describe(each, &properties) != ZE_RESULT_SUCCESS || !fits(properties)) continue;
    // Sysman lists the sensors of a card and those of its tiles together.
    if (!properties.onSubdevice) of_device.push_back(each);
    const bool ours = !place_.tile || *place_.tile == properties.subdeviceId;
    if (properties.onSubdevice && ours) of_tiles.push_back(each);
  }
  // A card's own sensors are used if it has any, and otherwise those of all its tiles.
  return place_.tile || of_device.empty() ? of_tiles : of_device;
}

std::optional<memory_amount> sysman::memory() {
  if (!api_.zesMemoryGetState) return std::nullopt;
  memory_amount amount = {};
  for (const auto module : own<zes_mem_handle_t, zes_mem_properties_t>(
           api_.zesDeviceEnumMemoryModules, api_.zesMemoryGetProperties,
           ZES_STRUCTURE_TYPE_MEM_PROPERTIES, [](const auto&) { return true; })) {
    zes_mem_state_t state = {};
    state.stype = ZES_STRUCTURE_TYPE_MEM_STATE;
    if (api_.zesMemoryGetState(module, &state) != ZE_RESULT_SUCCESS) return std::nullopt;
    amount.free += state.free;
    amount.total += state.size;
  }
  return amount.total != 0 ? std::optional(amount) : std::nullopt;
}

std::optional<std::vector<outback_process>> sysman::processes() {
  if (!api_.zesDeviceProcessesGetState || place_.device == nullptr) return std::nullopt;
  zes_process_state_t blank = {};
  blank.stype = ZES_STRUCTURE_TYPE_PROCESS_STATE;
  std::vector<zes_process_state_t> states;
  for (;;) {
    auto count = uint32_t(states.size());
    const ze_result_t result = api_.zesDeviceProcessesGetState(
        place_.device, &count, states.empty() ? nullptr : states.data());
    // INVALID_SIZE says that there are more processes than the list has room for.
    if (result != ZE_RESULT_SUCCESS && result != ZE_RESULT_ERROR_INVALID_SIZE) return std::nullopt;
    const bool all = result == ZE_RESULT_SUCCESS && count <= states.size();
    // With room for processes that start meanwhile.
    states.resize(all ? count : count + 8, blank);
    if (all) break;
  }
  std::vector<outback_process> known;
  for (const zes_process_state_t& state : states) {
    known.push_back({.pid = state.processId, .memory = state.memSize});
  }
  return known;
}

// The first call has nothing to compare with. It reads twice, 10 ms apart.
template <class Read>
std::optional<double> sysman::growth(std::optional<reading>& last, const Read& read) {
  // The lock is not held while sensors are read.
  const auto first = [&] {
    const std::lock_guard lock(mutex_);
    return last;
  }();
  const std::optional<reading> before = first ? first : read();
  if (!before) return std::nullopt;
  std::optional<reading> now = first ? read() : std::nullopt;
  // A counter may not have moved since the last call. Then it is read again after 10 ms.
  if (!now || now->time_us <= before->time_us) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    now = read();
  }
  if (!now || now->time_us <= before->time_us) return std::nullopt;
  const std::lock_guard lock(mutex_);
  last = now;
  return double(now->amount - before->amount) / double(now->time_us - before->time_us);
}

template <class Handle, class Read>
std::optional<sysman::reading> sysman::sum(const std::vector<Handle>& all, const Read& read) {
  reading total = {0, 0};
  for (const Handle each : all) {
    const std::optional<reading> one = read(each);
    if (!one) return std::nullopt;
    total.amount += one->amount;
    total.time_us = one->time_us;
  }
  return all.empty() ? std::nullopt : std::optional(total);
}

std::optional<int64_t> sysman::utilization() {
  if (!api_.zesEngineGetActivity) return std::nullopt;
  const auto engines = own<zes_engine_handle_t, zes_engine_properties_t>(
      api_.zesDeviceEnumEngineGroups, api_.zesEngineGetProperties,
      ZES_STRUCTURE_TYPE_ENGINE_PROPERTIES,
      // The group that stands for all engines together.
      [](const auto& properties) { return properties.type == ZES_ENGINE_GROUP_ALL; });
  const auto busy = growth(last_activity_, [&] {
    return sum(engines, [&](zes_engine_handle_t engine) -> std::optional<reading> {
      zes_engine_stats_t stats = {};
      if (api_.zesEngineGetActivity(engine, &stats) != ZE_RESULT_SUCCESS) return std::nullopt;
      return reading{stats.activeTime, stats.timestamp};
    });
  });
  if (!busy) return std::nullopt;
  // The mean of the tiles. Rounding, and reading one after another, may give a little more than
  // 100.
  return std::clamp<int64_t>(int64_t(*busy * 100 / double(engines.size())), 0, 100);
}

std::optional<int64_t> sysman::temperature() {
  if (!api_.zesTemperatureGetState) return std::nullopt;
  std::optional<int64_t> hottest;
  for (const auto sensor : own<zes_temp_handle_t, zes_temp_properties_t>(
           api_.zesDeviceEnumTemperatureSensors, api_.zesTemperatureGetProperties,
           ZES_STRUCTURE_TYPE_TEMP_PROPERTIES, [](const auto& properties) {
             return properties.type == ZES_TEMP_SENSORS_GPU ||
                    properties.type == ZES_TEMP_SENSORS_GLOBAL;
           })) {
    double celsius = 0;
    if (api_.zesTemperatureGetState(sensor, &celsius) != ZE_RESULT_SUCCESS) continue;
    // Tiles may have a sensor each.
    hottest = std::max(hottest.value_or(INT64_MIN), int64_t(celsius * 1000));
  }
  return hottest;
}

std::optional<int64_t> sysman::power() {
  if (!api_.zesPowerGetEnergyCounter) return std::nullopt;
  const auto domains = own<zes_pwr_handle_t, zes_power_properties_t>(
      api_.zesDeviceEnumPowerDomains, api_.zesPowerGetProperties,
      ZES_STRUCTURE_TYPE_POWER_PROPERTIES, [](const auto&) { return true; });
  // Microjoules per microsecond are watts.
  const auto watts = growth(last_energy_, [&] {
    return sum(domains, [&](zes_pwr_handle_t domain) -> std::optional<reading> {
      zes_power_energy_counter_t counter = {};
      if (api_.zesPowerGetEnergyCounter(domain, &counter) != ZE_RESULT_SUCCESS) return std::nullopt;
      return reading{counter.energy, counter.timestamp};
    });
  });
  return watts ? std::optional(int64_t(*watts * 1000)) : std::nullopt;
}

std::optional<int64_t> sysman::clock_rate() {
  if (!api_.zesFrequencyGetState) return std::nullopt;
  std::optional<int64_t> fastest;
  for (const auto domain : own<zes_freq_handle_t, zes_freq_properties_t>(
           api_.zesDeviceEnumFrequencyDomains, api_.zesFrequencyGetProperties,
           ZES_STRUCTURE_TYPE_FREQ_PROPERTIES,
           [](const auto& properties) { return properties.type == ZES_FREQ_DOMAIN_GPU; })) {
    zes_freq_state_t state = {};
    state.stype = ZES_STRUCTURE_TYPE_FREQ_STATE;
    if (api_.zesFrequencyGetState(domain, &state) != ZE_RESULT_SUCCESS) continue;
    if (state.actual <= 0) continue;                                       // not known
    fastest = std::max(fastest.value_or(0), int64_t(state.actual * 1e6));  // from MHz
  }
  return fastest;
}

}  // namespace outback::level_zero
