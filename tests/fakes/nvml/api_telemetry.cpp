// NVML's entry points: what devices measure. And the fake's own.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "tests/fakes/nvml/nvml_machine.hpp"

using namespace fake_nvml;

namespace {

// Instances of a partitioned device measure nothing of their own.
device& measuring(machine& m, nvmlDevice_t handle) {
  device& found = checked(m, handle);
  if (found.whole != nullptr) throw failure{NVML_ERROR_NOT_SUPPORTED};
  return found;
}

bool is_entry_point(const char* name) {
  Dl_info self = {};
  if (dladdr(reinterpret_cast<void*>(&is_entry_point), &self) == 0) return false;
  void* const library = dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  const bool found = library != nullptr && dlsym(library, name) != nullptr;
  if (library != nullptr) dlclose(library);
  return found && std::strncmp(name, "nvml", 4) == 0;
}

}  // namespace

extern "C" {

nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t handle, nvmlUtilization_t* rates) {
  return enter(__func__, [&](machine& m) {
    measuring(m, handle);
    require(rates != nullptr);
    *rates = {.gpu = m.measured.gpu, .memory = m.measured.memory};
  });
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t handle, nvmlMemory_t* memory) {
  return enter(__func__, [&](machine& m) {
    const device& of = checked(m, handle);
    require(memory != nullptr);
    memory->total = of.described.memory;
    memory->used = memory_used(of);
    memory->free = memory->total - memory->used;
  });
}

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t handle, nvmlMemory_v2_t* memory) {
  return enter(__func__, [&](machine& m) {
    const device& of = checked(m, handle);
    require(memory != nullptr);
    if (memory->version != nvmlMemory_v2) throw failure{NVML_ERROR_ARGUMENT_VERSION_MISMATCH};
    memory->total = of.described.memory;
    memory->reserved = 0;
    memory->used = memory_used(of);
    memory->free = memory->total - memory->used;
  });
}

nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t handle, unsigned sensor, unsigned* degrees) {
  return enter(__func__, [&](machine& m) {
    measuring(m, handle);
    require(degrees != nullptr && sensor == NVML_TEMPERATURE_GPU);
    *degrees = m.measured.degrees;
  });
}

nvmlReturn_t nvmlDeviceGetTemperatureV(nvmlDevice_t handle, nvmlTemperature_t* temperature) {
  return enter(__func__, [&](machine& m) {
    measuring(m, handle);
    require(temperature != nullptr && temperature->sensorType == NVML_TEMPERATURE_GPU);
    if (temperature->version != nvmlTemperature_v1) {
      throw failure{NVML_ERROR_ARGUMENT_VERSION_MISMATCH};
    }
    temperature->temperature = int(m.measured.degrees);
  });
}

nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t handle, unsigned* milliwatts) {
  return enter(__func__, [&](machine& m) {
    measuring(m, handle);
    require(milliwatts != nullptr);
    *milliwatts = m.measured.milliwatts;
  });
}

nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t handle, unsigned type, unsigned* megahertz) {
  return enter(__func__, [&](machine& m) {
    measuring(m, handle);
    require(megahertz != nullptr && type <= NVML_CLOCK_VIDEO);
    *megahertz = m.measured.megahertz;
  });
}

// This process, and one more that there is on every machine.
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t handle, unsigned* count,
                                                     nvmlProcessInfo_t* processes) {
  return enter(__func__, [&](machine& m) {
    const device& of = checked(m, handle);
    require(count != nullptr);
    constexpr unsigned there = 2;
    const unsigned room = *count;
    *count = there;
    if (room < there) throw failure{NVML_ERROR_INSUFFICIENT_SIZE};
    require(processes != nullptr);
    constexpr unsigned none = ~0u;
    const unsigned instance = of.whole == nullptr ? none : of.index + 1;
    processes[0] = {.pid = unsigned(getpid()),
                    .usedGpuMemory = memory_used(of),
                    .gpuInstanceId = instance,
                    .computeInstanceId = of.whole ? 0 : none};
    processes[1] = {.pid = 1,
                    .usedGpuMemory = 1 << 20,
                    .gpuInstanceId = instance,
                    .computeInstanceId = of.whole ? 0 : none};
  });
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t handle, unsigned* count,
                                                  nvmlProcessInfo_v1_t* processes) {
  return enter(__func__, [&](machine& m) {
    const device& of = checked(m, handle);
    require(count != nullptr);
    constexpr unsigned there = 1;
    const unsigned room = *count;
    *count = there;
    if (room < there) throw failure{NVML_ERROR_INSUFFICIENT_SIZE};
    require(processes != nullptr);
    processes[0] = {.pid = unsigned(getpid()), .usedGpuMemory = memory_used(of)};
  });
}

int fake_nvml_fail(const char* entry_point, int nth, int error) {
  if (entry_point == nullptr || nth < 0 || !is_entry_point(entry_point)) {
    std::fprintf(stderr, "fake_nvml_fail(%s, %d, %d): expected an entry point, and nth >= 0\n",
                 entry_point == nullptr ? "null" : entry_point, nth, error);
    return -1;
  }
  machine& m = the_machine();
  const std::lock_guard lock(m.mutex);
  m.faults.add(entry_point, nth, error);
  return 0;
}

void fake_nvml_clear_faults(void) {
  machine& m = the_machine();
  const std::lock_guard lock(m.mutex);
  m.faults.clear();
}

unsigned long long fake_nvml_calls(const char* entry_point) {
  machine& m = the_machine();
  const std::lock_guard lock(m.mutex);
  return m.faults.calls(entry_point);
}

void fake_nvml_measure(unsigned gpu, unsigned memory, unsigned degrees, unsigned milliwatts,
                       unsigned megahertz) {
  machine& m = the_machine();
  const std::lock_guard lock(m.mutex);
  m.measured = {.gpu = gpu,
                .memory = memory,
                .degrees = degrees,
                .milliwatts = milliwatts,
                .megahertz = megahertz};
}

}  // extern "C"
