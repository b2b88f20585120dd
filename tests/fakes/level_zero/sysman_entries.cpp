// zes*: memory, temperature, power, frequency and engine activity, for those who set
// ZES_ENABLE_SYSMAN=1 before zeInit.
#include <fmt/format.h>
#include <unistd.h>

#include <vector>

#include "tests/fakes/level_zero/answers.hpp"
#include "tests/fakes/level_zero/clock.hpp"
#include "tests/fakes/level_zero/entry_points.hpp"
#include "tests/fakes/level_zero/serve.hpp"
#include "tests/fakes/level_zero/violations.hpp"
#include "tests/fakes/level_zero/world.hpp"

namespace outback::software_ze {
namespace sysman_entries {

std::shared_ptr<device> find_device(zes_device_handle_t handle) {
  require(the_world().options.sysman, ZE_RESULT_ERROR_UNINITIALIZED);
  auto found = the_world().devices.find(reinterpret_cast<ze_device_handle_t>(handle));
  found->require_present();
  return found;
}

template <sensor::sort sort, class Handle>
ze_result_t enumerate(zes_device_handle_t handle, uint32_t* count, Handle* into) {
  const auto of = find_device(handle);
  const std::vector one{0};
  answer_list(one, count, into, [&](Handle& made, int) {
    made = reinterpret_cast<Handle>(the_world().sensor_of(of, sort));
  });
  return ZE_RESULT_SUCCESS;
}

template <class Handle>
device& find(Handle handle, sensor::sort sort, const void* answer) {
  const auto found = the_world().sensors.find(reinterpret_cast<void*>(handle));
  if (found->what != sort) refuse_violation("a Sysman handle of another sort");
  require_pointer(answer);
  found->of->require_present();
  return *found->of;  // devices never go
}

ze_result_t get_properties(zes_device_handle_t handle, zes_device_properties_t* properties) {
  const auto of = find_device(handle);
  require_pointer(properties);
  clear(*properties);
  properties->core.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES;
  properties->core.type = ZE_DEVICE_TYPE_GPU;
  properties->core.vendorId = 0x8086;
  properties->core.uuid = of->uuid();
  answer_text(properties->core.name, of->name());
  properties->numSubdevices = static_cast<uint32_t>(of->sub_devices.size());
  answer_text(properties->serialNumber, "unknown");
  answer_text(properties->boardNumber, "unknown");
  answer_text(properties->brandName, "Outback");
  answer_text(properties->modelName, of->name());
  answer_text(properties->vendorName, "Outback");
  answer_text(properties->driverVersion, "1");
  return ZE_RESULT_SUCCESS;
}

ze_result_t get_pci(zes_device_handle_t handle, zes_pci_properties_t* properties) {
  const auto of = find_device(handle);
  require_pointer(properties);
  clear(*properties);
  properties->address = {0, of->bus(), 0, 0};
  properties->maxSpeed = {4, 16, 31'500'000'000};
  return ZE_RESULT_SUCCESS;
}

ze_result_t get_processes(zes_device_handle_t handle, uint32_t* count, zes_process_state_t* into) {
  const auto of = find_device(handle);
  const std::vector processes{::getpid()};
  answer_list(processes, count, into, [&](zes_process_state_t& one, pid_t id) {
    one.processId = static_cast<uint32_t>(id);
    one.memSize = of->memory_used();
    one.sharedSize = 0;
    one.engines = ZES_ENGINE_TYPE_FLAG_COMPUTE;
  });
  return ZE_RESULT_SUCCESS;
}

ze_result_t memory_properties(zes_mem_handle_t handle, zes_mem_properties_t* properties) {
  device& of = find(handle, sensor::sort::memory, properties);
  clear(*properties);
  properties->type = ZES_MEM_TYPE_DDR4;
  properties->location = ZES_MEM_LOC_DEVICE;
  properties->physicalSize = of.root().memory();
  properties->busWidth = 64;
  properties->numChannels = 1;
  return ZE_RESULT_SUCCESS;
}

ze_result_t memory_state(zes_mem_handle_t handle, zes_mem_state_t* state) {
  device& of = find(handle, sensor::sort::memory, state);
  state->health = ZES_MEM_HEALTH_OK;
  state->size = of.root().memory();
  state->free = state->size - of.memory_used();
  return ZE_RESULT_SUCCESS;
}

ze_result_t temperature_properties(zes_temp_handle_t handle, zes_temp_properties_t* properties) {
  find(handle, sensor::sort::temperature, properties);
  clear(*properties);
  properties->type = ZES_TEMP_SENSORS_GLOBAL;
  properties->maxTemperature = 100;
  return ZE_RESULT_SUCCESS;
}

ze_result_t temperature_state(zes_temp_handle_t handle, double* celsius) {
  find(handle, sensor::sort::temperature, celsius);
  *celsius = temperature_celsius;
  return ZE_RESULT_SUCCESS;
}

ze_result_t power_properties(zes_pwr_handle_t handle, zes_power_properties_t* properties) {
  find(handle, sensor::sort::power, properties);
  clear(*properties);
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
  find(handle, sensor::sort::frequency, properties);
  clear(*properties);
  properties->type = ZES_FREQ_DOMAIN_GPU;
  properties->min = 300;
  properties->max = clock_megahertz;
  return ZE_RESULT_SUCCESS;
}

ze_result_t frequency_state(zes_freq_handle_t handle, zes_freq_state_t* state) {
  find(handle, sensor::sort::frequency, state);
  state->currentVoltage = -1;  // not known
  state->request = state->tdp = state->efficient = state->actual = clock_megahertz;
  state->throttleReasons = 0;
  return ZE_RESULT_SUCCESS;
}

ze_result_t engine_properties(zes_engine_handle_t handle, zes_engine_properties_t* properties) {
  find(handle, sensor::sort::engine, properties);
  clear(*properties);
  properties->type = ZES_ENGINE_GROUP_ALL;
  return ZE_RESULT_SUCCESS;
}

ze_result_t engine_activity(zes_engine_handle_t handle, zes_engine_stats_t* stats) {
  device& of = find(handle, sensor::sort::engine, stats);
  stats->activeTime = of.root().busy_nanoseconds.load(std::memory_order_relaxed) / 1000;
  stats->timestamp = clock_nanoseconds() / 1000;
  return ZE_RESULT_SUCCESS;
}

}  // namespace sysman_entries

uint64_t energy_microjoules(device& of) {
  const uint64_t busy = of.root().busy_nanoseconds.load(std::memory_order_relaxed);
  // Milliwatts times milliseconds are microjoules.
  return clock_nanoseconds() / 1'000'000 * idle_milliwatts + busy / 1'000'000 * busy_milliwatts;
}

void serve_sysman_device(zes_device_dditable_t* table) {
  using namespace sysman_entries;
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
