// NVML, NVIDIA's management library: it counts devices before CUDA is started, and it measures
// them.
//
// Its header is not in the packages of the CUDA runtime, so the parts that are used are declared
// here, after the documentation of NVML 12 and 13 (https://docs.nvidia.com/deploy/nvml-api). The
// library comes with the driver. It is opened at run time, OUTBACK_NVML=<path> or else
// libnvidia-ml.so.1, and is never closed or shut down.
#pragma once

#include <string>

#include "backend_template/runtimes/cuda/entry.hpp"

extern "C" {
struct nvmlDevice_st;
typedef nvmlDevice_st* nvmlDevice_t;
}

namespace outback::cuda {

// The numbers of nvmlReturn_t that the code asks for.
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

// NVML_DEVICE_UUID_V2_BUFFER_SIZE, NVML_TEMPERATURE_GPU and NVML_CLOCK_SM.
constexpr unsigned nvml_uuid_size = 96;
constexpr unsigned nvml_sensor_gpu = 0;
constexpr unsigned nvml_clock_sm = 1;

/// NVML's functions. All entries up to `processes` are there once loaded_nvml() reports no problem.
struct nvml {
  template <class... Arguments>
  using function = entry<nvml_result(Arguments...)>;

  entry<const char*(nvml_result)> error_string{"nvmlErrorString"};
  function<> init{"nvmlInit_v2"};
  function<unsigned*> count{"nvmlDeviceGetCount_v2"};
  function<unsigned, nvmlDevice_t*> by_index{"nvmlDeviceGetHandleByIndex_v2"};
  function<const char*, nvmlDevice_t*> by_uuid{"nvmlDeviceGetHandleByUUID"};
  function<const char*, nvmlDevice_t*> by_pci{"nvmlDeviceGetHandleByPciBusId_v2"};
  function<nvmlDevice_t, char*, unsigned> uuid{"nvmlDeviceGetUUID"};
  function<nvmlDevice_t, nvml_utilization*> utilization{"nvmlDeviceGetUtilizationRates"};
  function<nvmlDevice_t, nvml_memory*> memory{"nvmlDeviceGetMemoryInfo"};
  function<nvmlDevice_t, unsigned, unsigned*> temperature{"nvmlDeviceGetTemperature"};
  function<nvmlDevice_t, unsigned*> power{"nvmlDeviceGetPowerUsage"};
  function<nvmlDevice_t, unsigned, unsigned*> clock{"nvmlDeviceGetClockInfo"};
  function<nvmlDevice_t, unsigned*, nvml_process*> processes{
      "nvmlDeviceGetComputeRunningProcesses_v3"};

  // These are null if the driver is too old to have them.
  function<int*> cuda_version{"nvmlSystemGetCudaDriverVersion_v2"};
  function<nvmlDevice_t, unsigned*, unsigned*> mig_mode{"nvmlDeviceGetMigMode"};
  function<nvmlDevice_t, unsigned*> most_mig_devices{"nvmlDeviceGetMaxMigDeviceCount"};
  function<nvmlDevice_t, unsigned, nvmlDevice_t*> mig_device{"nvmlDeviceGetMigDeviceHandleByIndex"};
  function<nvmlDevice_t, unsigned*> gpu_instance{"nvmlDeviceGetGpuInstanceId"};
  function<nvmlDevice_t, unsigned*> compute_instance{"nvmlDeviceGetComputeInstanceId"};
};

/// The functions, or why they cannot be used.
struct nvml_library {
  nvml functions;
  std::string problem;  // why it cannot be used, "" if it can
};

/// Opens and initialises NVML on the first call, with the environment of that time, and returns the
/// same object from then on. It lives until the process ends. May be called from any thread; does
/// not throw for a missing library.
const nvml_library& loaded_nvml();

}  // namespace outback::cuda
