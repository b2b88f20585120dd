#include "backend_template/runtimes/level_zero/sysman.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "backend_template/runtimes/level_zero/result.hpp"

namespace outback::level_zero {

template <class Handle, class Properties, class State, class Fits>
std::vector<std::optional<State>> sysman::states(
    const library_function<ze_result_t(zes_device_handle_t, uint32_t*, Handle*)>& enumerate,
    const library_function<ze_result_t(Handle, Properties*)>& describe, zes_structure_type_t stype,
    const Fits& fits, const library_function<ze_result_t(Handle, State*)>& read,
    const State& blank) const {
  std::vector<std::optional<State>> of_device, of_tiles;
  if (place_.device == nullptr || !enumerate || !describe || !read) return {};
  std::vector<Handle> all;
  list_all(all, [&](auto... to) { return enumerate(place_.device, to...); });
  for (const Handle each : all) {
    Properties properties = {};
    properties.stype = stype;
    if (describe(each, &properties) != ZE_RESULT_SUCCESS || !fits(properties)) continue;
    // Sysman lists the sensors of a card and those of its tiles together.
    const bool of_tile = properties.onSubdevice;
    if (place_.tile && !(of_tile && properties.subdeviceId == *place_.tile)) continue;
    State state = blank;
    const bool is_read = read(each, &state) == ZE_RESULT_SUCCESS;
    (of_tile ? of_tiles : of_device).push_back(is_read ? std::optional(state) : std::nullopt);
  }
  // A card's own sensors are used if it has any, and otherwise those of all its tiles.
  return of_device.empty() ? of_tiles : of_device;
}

std::optional<memory_amount> sysman::memory() {
  zes_mem_state_t blank = {};
  blank.stype = ZES_STRUCTURE_TYPE_MEM_STATE;
  memory_amount amount = {};
  for (const auto& state : states(
           api_.zesDeviceEnumMemoryModules, api_.zesMemoryGetProperties,
           ZES_STRUCTURE_TYPE_MEM_PROPERTIES, [](const auto&) { return true; },
           api_.zesMemoryGetState, blank)) {
    if (!state) return std::nullopt;
    amount.free += state->free;
    amount.total += state->size;
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

template <class State, class Read>
std::optional<sysman::reading> sysman::sum(const std::vector<std::optional<State>>& all,
                                           const Read& read) {
  reading total = {0, 0};
  for (const std::optional<State>& each : all) {
    if (!each) return std::nullopt;
    const reading one = read(*each);
    total = {total.amount + one.amount, one.time_us};
  }
  return all.empty() ? std::nullopt : std::optional(total);
}

std::optional<int64_t> sysman::utilization() {
  const auto busy = growth(last_activity_, [&] {
    const auto engines = states(
        api_.zesDeviceEnumEngineGroups, api_.zesEngineGetProperties,
        ZES_STRUCTURE_TYPE_ENGINE_PROPERTIES,
        // The group that stands for all engines together.
        [](const auto& properties) { return properties.type == ZES_ENGINE_GROUP_ALL; },
        api_.zesEngineGetActivity, zes_engine_stats_t{});
    auto mean = sum(
        engines, [](const auto& engine) { return reading{engine.activeTime, engine.timestamp}; });
    if (mean) mean->amount /= engines.size();  // one for each tile
    return mean;
  });
  // Rounding, and reading one after another, may give a little more than 100.
  return busy ? std::optional(std::clamp<int64_t>(int64_t(*busy * 100), 0, 100)) : std::nullopt;
}

std::optional<int64_t> sysman::temperature() {
  std::optional<int64_t> hottest;
  for (const auto& celsius : states(
           api_.zesDeviceEnumTemperatureSensors, api_.zesTemperatureGetProperties,
           ZES_STRUCTURE_TYPE_TEMP_PROPERTIES,
           [](const auto& properties) {
             return properties.type == ZES_TEMP_SENSORS_GPU ||
                    properties.type == ZES_TEMP_SENSORS_GLOBAL;
           },
           api_.zesTemperatureGetState, 0.0)) {
    // Tiles may have a sensor each.
    if (celsius) hottest = std::max(hottest.value_or(INT64_MIN), int64_t(*celsius * 1000));
  }
  return hottest;
}

std::optional<int64_t> sysman::power() {
  const auto watts = growth(last_energy_, [&] {
    const auto domains = states(
        api_.zesDeviceEnumPowerDomains, api_.zesPowerGetProperties,
        ZES_STRUCTURE_TYPE_POWER_PROPERTIES, [](const auto&) { return true; },
        api_.zesPowerGetEnergyCounter, zes_power_energy_counter_t{});
    // Microjoules per microsecond are watts.
    return sum(domains,
               [](const auto& counter) { return reading{counter.energy, counter.timestamp}; });
  });
  return watts ? std::optional(int64_t(*watts * 1000)) : std::nullopt;
}

std::optional<int64_t> sysman::clock_rate() {
  zes_freq_state_t blank = {};
  blank.stype = ZES_STRUCTURE_TYPE_FREQ_STATE;
  std::optional<int64_t> fastest;
  for (const auto& state : states(
           api_.zesDeviceEnumFrequencyDomains, api_.zesFrequencyGetProperties,
           ZES_STRUCTURE_TYPE_FREQ_PROPERTIES,
           [](const auto& properties) { return properties.type == ZES_FREQ_DOMAIN_GPU; },
           api_.zesFrequencyGetState, blank)) {
    if (!state || state->actual <= 0) continue;                             // not known
    fastest = std::max(fastest.value_or(0), int64_t(state->actual * 1e6));  // from MHz
  }
  return fastest;
}

}  // namespace outback::level_zero
