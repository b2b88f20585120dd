// The telemetry slots of the CUDA runtime: what NVML measures.
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "backend_template/runtimes/cuda/cuda_runtime.hpp"
#include "backend_template/runtimes/cuda/nvml.hpp"

namespace outback::cuda {
namespace {

void check(const nvml& nvml, device& d, nvml_result result, const char* function) {
  if (result == nvml_success) return;
  const std::string text = std::string(function) + ": " + nvml.error_string(result);
  switch (result) {
    case nvml_not_supported:
    case nvml_no_permission:
    case nvml_not_found:
      throw unsupported(text);
    case nvml_gpu_is_lost:
      d.lose(text);
    default:
      throw runtime_error(OUTBACK_INTERNAL, text);
  }
}

template <class F, class... Arguments>
void ask(const nvml& nvml, device& d, const library_function<F>& function, Arguments... arguments) {
  check(nvml, d, function(arguments...), function.name);
}

// Finds the device in NVML by its UUID. CUDA has no prefix for it, so the UUID may be a whole
// device's ("GPU-") or a MIG instance's ("MIG-"). Where the driver hides UUIDs, the place on the
// PCI bus has to do.
nvmlDevice_t nvml_device(const nvml& nvml, device& d) {
  nvmlDevice_t found = nullptr;
  const std::string uuid = d.uuid_text();
  if (nvml.by_uuid(uuid.c_str(), &found) == nvml_success) return found;
  if (nvml.by_uuid(("MIG-" + uuid.substr(4)).c_str(), &found) == nvml_success) return found;
  ask(nvml, d, nvml.by_pci, d.pci_id().c_str(), &found);
  return found;
}

std::vector<outback_process> processes_of(const nvml& nvml, device& d, nvmlDevice_t gpu) {
  std::vector<nvml_process> processes(16);
  for (;;) {
    auto count = unsigned(processes.size());
    const nvml_result result = nvml.processes(gpu, &count, processes.data());
    if (result == nvml_insufficient_size) {
      // Processes may start between two calls, so there is more room than the count that NVML
      // returned.
      processes.resize(std::max<std::size_t>(count, processes.size()) * 2);
      continue;
    }
    check(nvml, d, result, nvml.processes.name);
    processes.resize(count);
    break;
  }
  std::vector<outback_process> all;
  for (const nvml_process& process : processes) {
    // NVML writes all ones for memory that it does not know, which is OUTBACK_UNKNOWN_MEMORY.
    all.push_back({.pid = process.pid, .memory = process.used_memory});
  }
  return all;
}

int64_t memory_of_this_process(const nvml& nvml, device& d, nvmlDevice_t gpu) {
  for (const outback_process& process : processes_of(nvml, d, gpu)) {
    if (process.pid == getpid() && process.memory != OUTBACK_UNKNOWN_MEMORY) {
      return int64_t(process.memory);
    }
  }
  // A process without a context has no memory on the device. One with a context that is not listed
  // is unknown to NVML, as in a container with process numbers of its own.
  if (!d.active()) return 0;
  throw unsupported(
      "NVML does not tell the memory of this process, as in a container that has process numbers "
      "of its own");
}

const nvml& needed_nvml() {
  const nvml_library& library = loaded_nvml();
  if (!library.problem.empty()) throw unsupported(library.problem);
  return library.functions;
}

}  // namespace

int64_t cuda_runtime::telemetry_read(int32_t index, outback_metric metric) {
  device& d = at(index);
  const nvml& nvml = needed_nvml();
  const nvmlDevice_t gpu = nvml_device(nvml, d);
  nvml_memory memory = {};
  nvml_utilization busy = {};
  unsigned value = 0;
  switch (metric) {
    case OUTBACK_METRIC_UTILIZATION:
      ask(nvml, d, nvml.utilization, gpu, &busy);
      return busy.gpu;
    case OUTBACK_METRIC_MEMORY_UTILIZATION:
      ask(nvml, d, nvml.utilization, gpu, &busy);
      return busy.memory;
    case OUTBACK_METRIC_MEMORY_USED:
      return memory_of_this_process(nvml, d, gpu);
    case OUTBACK_METRIC_DEVICE_MEMORY_USED:
      ask(nvml, d, nvml.memory, gpu, &memory);
      return int64_t(memory.used);
    case OUTBACK_METRIC_TEMPERATURE:
      ask(nvml, d, nvml.temperature, gpu, nvml_sensor_gpu, &value);
      return int64_t{value} * 1000;
    case OUTBACK_METRIC_POWER:
      ask(nvml, d, nvml.power, gpu, &value);
      return value;
    case OUTBACK_METRIC_CLOCK:
      ask(nvml, d, nvml.clock, gpu, nvml_clock_sm, &value);
      return int64_t{value} * 1'000'000;
    default:
      throw unsupported("there is no metric " + std::to_string(metric));
  }
}

std::vector<outback_process> cuda_runtime::telemetry_processes(int32_t index) {
  device& d = at(index);
  const nvml& nvml = needed_nvml();
  return processes_of(nvml, d, nvml_device(nvml, d));
}

}  // namespace outback::cuda
