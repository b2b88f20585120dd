// zes*: memory, temperature, power, frequency and engine activity: of the core's devices, for those
// who set ZES_ENABLE_SYSMAN=1 before zeInit; of cards, for those who call zesInit.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "tests/fakes/level_zero/answers.hpp"
#include "tests/fakes/level_zero/clock.hpp"
#include "tests/fakes/level_zero/entry_points.hpp"
#include "tests/fakes/level_zero/serve.hpp"
#include "tests/fakes/level_zero/violations.hpp"
#include "tests/fakes/level_zero/world.hpp"

namespace outback::software_ze {
namespace sysman_entries {

/// What a handle stands for: a card, or the core's device with the same handle.
sysman_card find_device(zes_device_handle_t handle) {
  world& all = the_world();
  sysman_card found = {};
  if (decltype(all.cards)::is_of_this_kind(handle)) {
    found = *all.cards.find(handle);
  } else {
    require(all.options.sysman, ZE_RESULT_ERROR_UNINITIALIZED);
    const auto of = all.devices.find(reinterpret_cast<ze_device_handle_t>(handle));
    found.card = of->card();
    for (const auto& tile : of->sub_devices) found.parts.push_back({tile, true});
    if (of->sub_devices.empty()) found.parts.push_back({of, false});
  }
  for (const measured& part : found.parts) part.of->require_present();
  return found;
}

template <sensor::sort sort, class Handle>
ze_result_t enumerate(zes_device_handle_t handle, uint32_t* count, Handle* into) {
  answer_list(find_device(handle).parts, count, into, [&](Handle& made, const measured& part) {
    made = reinterpret_cast<Handle>(the_world().sensor_of(part, sort));
  });
  return ZE_RESULT_SUCCESS;
}

template <class Handle>
measured find_place(Handle handle, sensor::sort sort, const void* answer) {
  const auto found = the_world().sensors.find(reinterpret_cast<void*>(handle));
  if (found->what != sort) refuse_violation("a Sysman handle of another sort");
  require_pointer(answer);
  found->at.of->require_present();
  return found->at;
}

template <class Handle>
device& find(Handle handle, sensor::sort sort, const void* answer) {
  return *find_place(handle, sort, answer).of;  // devices never go
}

/// The properties with nothing in them but where the sensor is.
template <class Handle, class Properties>
void describe(Handle handle, sensor::sort sort, Properties* properties) {
  const measured at = find_place(handle, sort, properties);
  clear(*properties);
  properties->onSubdevice = at.is_tile;
  properties->subdeviceId = at.is_tile ? at.of->tile().value_or(0) : 0;
}

/// A tile of a card that the core lists has an equal part of what is used of the card.
uint64_t memory_used(device& of) {
  return of.parent() ? of.memory_used() / of.parent()->sub_devices.size() : of.memory_used();
}

ze_result_t get_properties(zes_device_handle_t handle, zes_device_properties_t* properties) {
  const sysman_card of = find_device(handle);
  require_pointer(properties);
  clear(*properties);
  device& first = *of.parts.at(0).of;
  const bool is_card = of.parts[0].is_tile;
  const std::string name = is_card ? fmt::format("Outback Software GPU {}", of.card) : first.name();
  properties->core.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES;
  properties->core.type = ZE_DEVICE_TYPE_GPU;
  properties->core.vendorId = 0x8086;
  properties->core.uuid = is_card ? device::uuid_of(of.card, std::nullopt) : first.uuid();
  answer_text(properties->core.name, name);
  properties->numSubdevices =
      static_cast<uint32_t>(is_card ? of.parts.size() : first.sub_devices.size());
  answer_text(properties->serialNumber, "unknown");
  answer_text(properties->boardNumber, "unknown");
  answer_text(properties->brandName, "Outback");
  answer_text(properties->modelName, name);
  answer_text(properties->vendorName, "Outback");
  answer_text(properties->driverVersion, "1");
  return ZE_RESULT_SUCCESS;
}

ze_result_t get_pci(zes_device_handle_t handle, zes_pci_properties_t* properties) {
  const sysman_card of = find_device(handle);
  require_pointer(properties);
  clear(*properties);
  properties->address = {0, device::bus_of(of.card), 0, 0};
  properties->maxSpeed = {4, 16, 31'500'000'000};
  return ZE_RESULT_SUCCESS;
}

ze_result_t get_processes(zes_device_handle_t handle, uint32_t* count, zes_process_state_t* into) {
  const sysman_card of = find_device(handle);
  const std::vector processes{::getpid()};
  answer_list(processes, count, into, [&](zes_process_state_t& one, pid_t id) {
    one.processId = static_cast<uint32_t>(id);
    one.memSize = 0;
    for (const measured& part : of.parts) one.memSize += memory_used(*part.of);
    one.sharedSize = 0;
    one.engines = ZES_ENGINE_TYPE_FLAG_COMPUTE;
  });
  return ZE_RESULT_SUCCESS;
}

ze_result_t memory_properties(zes_mem_handle_t handle, zes_mem_properties_t* properties) {
  describe(handle, sensor::sort::memory, properties);
  properties->type = ZES_MEM_TYPE_DDR4;
  properties->location = ZES_MEM_LOC_DEVICE;
  properties->physicalSize = find(handle, sensor::sort::memory, properties).memory();
  properties->busWidth = 64;
  properties->numChannels = 1;
  return ZE_RESULT_SUCCESS;
}

ze_result_t memory_state(zes_mem_handle_t handle, zes_mem_state_t* state) {
  device& of = find(handle, sensor::sort::memory, state);
  state->health = ZES_MEM_HEALTH_OK;
  state->size = of.memory();
  state->free = state->size - memory_used(of);
  return ZE_RESULT_SUCCESS;
}

ze_result_t temperature_properties(zes_temp_handle_t handle, zes_temp_properties_t* properties) {
  describe(handle, sensor::sort::temperature, properties);
  properties->type = ZES_TEMP_SENSORS_GLOBAL;
  properties->maxTemperature = 100;
  return ZE_RESULT_SUCCESS;
}

ze_result_t temperature_state(zes_temp_handle_t handle, double* celsius) {
  const device& of = find(handle, sensor::sort::temperature, celsius);
  *celsius = temperature_celsius + of.tile().value_or(0);
  return ZE_RESULT_SUCCESS;
}

ze_result_t power_properties(zes_pwr_handle_t handle, zes_power_properties_t* properties) {
  describe(handle, sensor::sort::power, properties);
  properties->defaultLimit = properties->minLimit = properties->maxLimit = -1;
  return ZE_RESULT_SUCCESS;
}

ze_result_t power_energy(zes_pwr_handle_t handle, zes_power_energy_counter_t* energy) {
  device& of = find(handle, sensor::sort::power, energy);
  energy->energy = energy_microjoules(of);
  energy->timestamp = clock_nanoseconds() / 1000;
  return ZE_RESULT_SUCCESS;
}

ze_result_t frequency_properties(zes_freq_handle_t handle, zes_freq_properties_t* properties) {
  describe(handle, sensor::sort::frequency, properties);
  properties->type = ZES_FREQ_DOMAIN_GPU;
  properties->min = 300;
  properties->max = clock_megahertz;
  return ZE_RESULT_SUCCESS;
}

ze_result_t frequency_state(zes_freq_handle_t handle, zes_freq_state_t* state) {
  const device& of = find(handle, sensor::sort::frequency, state);
  state->currentVoltage = -1;  // not known
  state->request = state->tdp = state->efficient = clock_megahertz;
  state->actual = clock_megahertz + of.tile().value_or(0);
  state->throttleReasons = 0;
  return ZE_RESULT_SUCCESS;
}

ze_result_t engine_properties(zes_engine_handle_t handle, zes_engine_properties_t* properties) {
  describe(handle, sensor::sort::engine, properties);
  properties->type = ZES_ENGINE_GROUP_ALL;
  return ZE_RESULT_SUCCESS;
}

ze_result_t engine_activity(zes_engine_handle_t handle, zes_engine_stats_t* stats) {
  device& of = find(handle, sensor::sort::engine, stats);
  stats->activeTime = of.root().busy_nanoseconds.load(std::memory_order_relaxed) / 1000;
  stats->timestamp = clock_nanoseconds() / 1000;
  return ZE_RESULT_SUCCESS;
}

ze_result_t init(uint32_t) {
  make_world();
  // Of one process, one way only: as Intel's driver has it.
  require(!the_options().sysman, ZE_RESULT_ERROR_UNINITIALIZED);
  the_world().sysman_apart = true;
  return ZE_RESULT_SUCCESS;
}

void require_apart() {
  require(the_world().sysman_apart, ZE_RESULT_ERROR_UNINITIALIZED);
}

ze_result_t get_drivers(uint32_t* count, zes_driver_handle_t* drivers) {
  require_apart();
  const std::vector handles{the_world().driver_handle};
  answer_list(handles, count, drivers, [](auto& into, ze_driver_handle_t handle) {
    into = reinterpret_cast<zes_driver_handle_t>(handle);
  });
  return ZE_RESULT_SUCCESS;
}

void find_driver(zes_driver_handle_t driver) {
  require_apart();
  the_world().drivers.find(reinterpret_cast<ze_driver_handle_t>(driver));
}

ze_result_t get_devices(zes_driver_handle_t driver, uint32_t* count, zes_device_handle_t* into) {
  find_driver(driver);
  answer_list(the_world().sysman_cards, count, into,
              [](auto& one, zes_device_handle_t handle) { one = handle; });
  return ZE_RESULT_SUCCESS;
}

ze_result_t get_device_by_uuid(zes_driver_handle_t driver, sysman_uuid uuid,
                               zes_device_handle_t* found, ze_bool_t* on_subdevice,
                               uint32_t* subdevice) {
  find_driver(driver);
  require_pointer(found);
  require_pointer(on_subdevice);
  require_pointer(subdevice);
  const auto is = [&](uint32_t card, std::optional<uint32_t> tile) {
    const ze_device_uuid_t one = device::uuid_of(card, tile);
    return std::equal(std::begin(one.id), std::end(one.id), std::begin(uuid.id));
  };
  for (const zes_device_handle_t handle : the_world().sysman_cards) {
    const auto card = the_world().cards.find(handle);
    for (const measured& part : card->parts) {
      const bool is_part = part.is_tile && is(card->card, part.of->tile());
      if (!is_part && !is(card->card, std::nullopt)) continue;
      *found = handle;
      *on_subdevice = is_part;
      *subdevice = is_part ? *part.of->tile() : 0;
      return ZE_RESULT_SUCCESS;
    }
  }
  return ZE_RESULT_ERROR_INVALID_ARGUMENT;
}

}  // namespace sysman_entries

uint64_t energy_microjoules(device& of) {
  const uint64_t busy = of.root().busy_nanoseconds.load(std::memory_order_relaxed);
  // Milliwatts times milliseconds are microjoules.
  return clock_nanoseconds() / 1'000'000 * idle_milliwatts + busy / 1'000'000 * busy_milliwatts;
}

void serve_sysman_global(sysman_global_table* table, ze_api_version_t version) {
  if (!serves(version, api_version(1, 5))) return;
  serve<"zesInit", sysman_entries::init, in_child::allowed>(table->pfnInit);
}

void serve_sysman_driver(zes_driver_dditable_t* table, ze_api_version_t version) {
  if (!serves(version, api_version(1, 5))) return;
  serve_newer<"zesDriverGet", sysman_entries::get_drivers, in_child::allowed>(
      table, slot_sysman_driver_get);
}

void serve_sysman_driver_exp(sysman_driver_exp_table* table, ze_api_version_t version) {
  if (!serves(version, api_version(1, 9))) return;
  serve<"zesDriverGetDeviceByUuidExp", sysman_entries::get_device_by_uuid, in_child::allowed>(
      table->pfnGetDeviceByUuidExp);
}

void serve_sysman_device(zes_device_dditable_t* table, ze_api_version_t version) {
  using namespace sysman_entries;
  if (serves(version, api_version(1, 5))) {
    serve_newer<"zesDeviceGet", get_devices, in_child::allowed>(table, slot_sysman_device_get);
  }
  using sort = sensor::sort;
  serve<"zesDeviceGetProperties", get_properties, in_child::allowed>(table->pfnGetProperties);
  serve<"zesDevicePciGetProperties", get_pci, in_child::allowed>(table->pfnPciGetProperties);
  serve<"zesDeviceProcessesGetState", get_processes>(table->pfnProcessesGetState);
  serve<"zesDeviceEnumMemoryModules", enumerate<sort::memory, zes_mem_handle_t>>(
      table->pfnEnumMemoryModules);
  serve<"zesDeviceEnumTemperatureSensors", enumerate<sort::temperature, zes_temp_handle_t>>(
      table->pfnEnumTemperatureSensors);
  serve<"zesDeviceEnumPowerDomains", enumerate<sort::power, zes_pwr_handle_t>>(
      table->pfnEnumPowerDomains);
  serve<"zesDeviceEnumFrequencyDomains", enumerate<sort::frequency, zes_freq_handle_t>>(
      table->pfnEnumFrequencyDomains);
  serve<"zesDeviceEnumEngineGroups", enumerate<sort::engine, zes_engine_handle_t>>(
      table->pfnEnumEngineGroups);
}

void serve_sysman_memory(zes_memory_dditable_t* table) {
  using namespace sysman_entries;
  serve<"zesMemoryGetProperties", memory_properties>(table->pfnGetProperties);
  serve<"zesMemoryGetState", memory_state>(table->pfnGetState);
}

void serve_sysman_temperature(zes_temperature_dditable_t* table) {
  using namespace sysman_entries;
  serve<"zesTemperatureGetProperties", temperature_properties>(table->pfnGetProperties);
  serve<"zesTemperatureGetState", temperature_state>(table->pfnGetState);
}

void serve_sysman_power(zes_power_dditable_t* table) {
  using namespace sysman_entries;
  serve<"zesPowerGetProperties", power_properties>(table->pfnGetProperties);
  serve<"zesPowerGetEnergyCounter", power_energy>(table->pfnGetEnergyCounter);
}

void serve_sysman_frequency(zes_frequency_dditable_t* table) {
  using namespace sysman_entries;
  serve<"zesFrequencyGetProperties", frequency_properties>(table->pfnGetProperties);
  serve<"zesFrequencyGetState", frequency_state>(table->pfnGetState);
}

void serve_sysman_engine(zes_engine_dditable_t* table) {
  using namespace sysman_entries;
  serve<"zesEngineGetProperties", engine_properties>(table->pfnGetProperties);
  serve<"zesEngineGetActivity", engine_activity>(table->pfnGetActivity);
}

}  // namespace outback::software_ze
