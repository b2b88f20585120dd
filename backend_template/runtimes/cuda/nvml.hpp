// NVML, NVIDIA's management library. It counts devices before CUDA is started, and it measures
// devices.
//
// The packages of the CUDA runtime do not contain NVML's header, so this file declares the parts
// that the runtime uses, after the documentation of NVML 12 and 13
// (https://docs.nvidia.com/deploy/nvml-api). The library comes with the driver. The runtime opens
// OUTBACK_NVML=<path>, or else libnvidia-ml.so.1, at run time, and never closes it or shuts it
// down.
#pragma once

#include <string>

#include "backend_template/runtimes/library_function.hpp"

extern "C" {
struct nvmlDevice_st;
typedef nvmlDevice_st* nvmlDevice_t;
}

namespace outback::cuda {

// The values of nvmlReturn_t that the code checks.
enum nvml_result : int {
  nvml_success = 0,
  nvml_not_supported = 3,
  nvml_no_permission = 4,
  nvml_not_found = 6,
  nvml_insufficient_size = 7,
  nvml_gpu_is_lost = 15,
};

/// nvmlUtilization_t.
struct nvml_utilization {
  unsigned gpu, memory;  // percent
};

/// nvmlMemory_t.
struct nvml_memory {
  unsigned long long total, free, used;  // bytes
};

/// nvmlProcessInfo_t, as the functions whose names end in _v3 write it.
struct nvml_process {
  unsigned pid;
  unsigned long long used_memory;  // bytes; all ones if unknown
  unsigned gpu_instance, compute_instance;
};
static_assert(sizeof(nvml_process) == 24);

// The values of NVML_DEVICE_UUID_V2_BUFFER_SIZE, NVML_TEMPERATURE_GPU and NVML_CLOCK_SM.
constexpr unsigned nvml_uuid_size = 96;
constexpr unsigned nvml_sensor_gpu = 0;
constexpr unsigned nvml_clock_sm = 1;

/// NVML's functions. If loaded_nvml() reports no problem, all functions up to `processes` are set.
struct nvml {
  template <class... Arguments>
  using nvml_function = library_function<nvml_result(Arguments...)>;

  library_function<const char*(nvml_result)> error_string{"nvmlErrorString"};
  nvml_function<> init{"nvmlInit_v2"};
  nvml_function<unsigned*> count{"nvmlDeviceGetCount_v2"};
  nvml_function<unsigned, nvmlDevice_t*> by_index{"nvmlDeviceGetHandleByIndex_v2"};
  nvml_function<const char*, nvmlDevice_t*> by_uuid{"nvmlDeviceGetHandleByUUID"};
  nvml_function<const char*, nvmlDevice_t*> by_pci{"nvmlDeviceGetHandleByPciBusId_v2"};
  nvml_function<nvmlDevice_t, char*, unsigned> uuid{"nvmlDeviceGetUUID"};
  nvml_function<nvmlDevice_t, nvml_utilization*> utilization{"nvmlDeviceGetUtilizationRates"};
  nvml_function<nvmlDevice_t, nvml_memory*> memory{"nvmlDeviceGetMemoryInfo"};
  nvml_function<nvmlDevice_t, unsigned, unsigned*> temperature{"nvmlDeviceGetTemperature"};
  nvml_function<nvmlDevice_t, unsigned*> power{"nvmlDeviceGetPowerUsage"};
  nvml_function<nvmlDevice_t, unsigned, unsigned*> clock{"nvmlDeviceGetClockInfo"};
  nvml_function<nvmlDevice_t, unsigned*, nvml_process*> processes{
      "nvmlDeviceGetComputeRunningProcesses_v3"};

  // These functions are null if the driver is too old.
  nvml_function<int*> cuda_version{"nvmlSystemGetCudaDriverVersion_v2"};
  nvml_function<nvmlDevice_t, unsigned*, unsigned*> mig_mode{"nvmlDeviceGetMigMode"};
};

/// NVML's functions, or the reason why they cannot be used.
struct nvml_library {
  nvml functions;
  std::string problem;  // why NVML cannot be used; "" if it can
};

/// The first call opens and initialises NVML, with the environment of that moment. All calls return
/// the same object, which lives until the process ends. May be called from any thread. Throws
/// outback::invalid_argument for a malformed OUTBACK_NVML; does not throw for a missing library.
const nvml_library& loaded_nvml();

}  // namespace outback::cuda
