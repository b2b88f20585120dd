// NVML, NVIDIA's management library: it counts devices before CUDA is started, and it measures
// them.
//
// Its header is not in the packages of the CUDA runtime, so the parts that are used are declared
// here, after the documentation of NVML 12 and 13 (https://docs.nvidia.com/deploy/nvml-api). The
// library comes with the driver. It is opened at run time, OUTBACK_NVML=<path> or else
// libnvidia-ml.so.1, and is never closed or shut down.
#pragma once

#include <string>

#include "backend_template/runtimes/library_function.hpp"

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

/// NVML's functions. All functions up to `processes` are there once loaded_nvml() reports no
/// problem.
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

  // These are null if the driver is too old to have them.
  nvml_function<int*> cuda_version{"nvmlSystemGetCudaDriverVersion_v2"};
  nvml_function<nvmlDevice_t, unsigned*, unsigned*> mig_mode{"nvmlDeviceGetMigMode"};
};

/// The functions, or why they cannot be used.
struct nvml_library {
  nvml functions;
  std::string problem;  // why it cannot be used, "" if it can
};

/// Opens and initialises NVML on the first call, with the environment of that time, and returns the
/// same object from then on. It lives until the process ends. May be called from any thread; throws
/// outback::invalid_argument for a malformed OUTBACK_NVML, and does not throw for a missing
/// library.
const nvml_library& loaded_nvml();

}  // namespace outback::cuda
