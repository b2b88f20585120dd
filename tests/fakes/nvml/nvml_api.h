// The part of NVML that the fake library has. NVML's own header is in no package of the CUDA
// runtime, so it is declared here, from https://docs.nvidia.com/deploy/nvml-api (12 and 13). Plain
// C.
#pragma once
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FAKE_NVML_EXPORT __attribute__((visibility("default")))

typedef struct nvmlDevice_st* nvmlDevice_t;
typedef int nvmlReturn_t;
enum {
  NVML_SUCCESS = 0,
  NVML_ERROR_UNINITIALIZED = 1,
  NVML_ERROR_INVALID_ARGUMENT = 2,
  NVML_ERROR_NOT_SUPPORTED = 3,
  NVML_ERROR_NO_PERMISSION = 4,
  NVML_ERROR_NOT_FOUND = 6,
  NVML_ERROR_INSUFFICIENT_SIZE = 7,
  NVML_ERROR_DRIVER_NOT_LOADED = 9,
  NVML_ERROR_GPU_IS_LOST = 15,
  NVML_ERROR_ARGUMENT_VERSION_MISMATCH = 25,
  NVML_ERROR_UNKNOWN = 999
};

enum { NVML_TEMPERATURE_GPU = 0 };
enum { NVML_CLOCK_GRAPHICS = 0, NVML_CLOCK_SM = 1, NVML_CLOCK_MEM = 2, NVML_CLOCK_VIDEO = 3 };

typedef struct {
  unsigned gpu, memory;  // percent
} nvmlUtilization_t;
typedef struct {
  unsigned long long total, free, used;  // bytes
} nvmlMemory_t;
typedef struct {
  unsigned version;  // in: nvmlMemory_v2
  unsigned long long total, reserved, free, used;
} nvmlMemory_v2_t;
typedef struct {
  unsigned version;  // in: nvmlTemperature_v1
  int sensorType;
  int temperature;  // degrees Celsius
} nvmlTemperature_t;
typedef struct {
  unsigned pid;
  unsigned long long usedGpuMemory;  // bytes
  unsigned gpuInstanceId, computeInstanceId;
} nvmlProcessInfo_t;  // of *_v2 and *_v3
typedef struct {
  unsigned pid;
  unsigned long long usedGpuMemory;  // bytes
} nvmlProcessInfo_v1_t;              // of the one without a number
#define FAKE_NVML_STRUCT_VERSION(type, number) ((unsigned)(sizeof(type) | ((number) << 24U)))
#define nvmlMemory_v2 FAKE_NVML_STRUCT_VERSION(nvmlMemory_v2_t, 2)
#define nvmlTemperature_v1 FAKE_NVML_STRUCT_VERSION(nvmlTemperature_t, 1)

FAKE_NVML_EXPORT nvmlReturn_t nvmlInit(void);
FAKE_NVML_EXPORT nvmlReturn_t nvmlInit_v2(void);
FAKE_NVML_EXPORT nvmlReturn_t nvmlShutdown(void);
FAKE_NVML_EXPORT const char* nvmlErrorString(nvmlReturn_t result);
FAKE_NVML_EXPORT nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int* version);
FAKE_NVML_EXPORT nvmlReturn_t nvmlDeviceGetCount_v2(unsigned* count);
FAKE_NVML_EXPORT nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t* device);
FAKE_NVML_EXPORT nvmlReturn_t nvmlDeviceGetHandleByUUID(const char* uuid, nvmlDevice_t* device);
FAKE_NVML_EXPORT nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char* id,
                                                               nvmlDevice_t* device);
FAKE_NVML_EXPORT nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char* uuid, unsigned size);
FAKE_NVML_EXPORT nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char* name, unsigned size);
FAKE_NVML_EXPORT nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned* index);
FAKE_NVML_EXPORT nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device,
                                                            nvmlUtilization_t* rates);
FAKE_NVML_EXPORT nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t* memory);
FAKE_NVML_EXPORT nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device,
                                                         nvmlMemory_v2_t* memory);
FAKE_NVML_EXPORT nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, unsigned sensor,
                                                       unsigned* degrees);
FAKE_NVML_EXPORT nvmlReturn_t nvmlDeviceGetTemperatureV(nvmlDevice_t device,
                                                        nvmlTemperature_t* temperature);
FAKE_NVML_EXPORT nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned* milliwatts);
FAKE_NVML_EXPORT nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, unsigned type,
                                                     unsigned* megahertz);
FAKE_NVML_EXPORT nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device,
                                                                      unsigned* count,
                                                                      nvmlProcessInfo_t* processes);
FAKE_NVML_EXPORT nvmlReturn_t nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t device,
                                                                   unsigned* count,
                                                                   nvmlProcessInfo_v1_t* processes);
FAKE_NVML_EXPORT nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned* current,
                                                   unsigned* pending);
FAKE_NVML_EXPORT nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device, unsigned* count);
FAKE_NVML_EXPORT nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device,
                                                                  unsigned index,
                                                                  nvmlDevice_t* instance);
FAKE_NVML_EXPORT nvmlReturn_t nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvmlDevice_t instance,
                                                                           nvmlDevice_t* device);
FAKE_NVML_EXPORT nvmlReturn_t nvmlDeviceIsMigDeviceHandle(nvmlDevice_t device, unsigned* is);
FAKE_NVML_EXPORT nvmlReturn_t nvmlDeviceGetGpuInstanceId(nvmlDevice_t device, unsigned* id);
FAKE_NVML_EXPORT nvmlReturn_t nvmlDeviceGetComputeInstanceId(nvmlDevice_t device, unsigned* id);

// ---- The fake's own: as fake_cudart_fail and its fellows in tests/fakes/cudart/fake_cudart.h.
FAKE_NVML_EXPORT int fake_nvml_fail(const char* entry_point, int nth, int error);
FAKE_NVML_EXPORT void fake_nvml_clear_faults(void);
FAKE_NVML_EXPORT unsigned long long fake_nvml_calls(const char* entry_point);
// What every device measures from now on: percent, percent, degrees, milliwatts, megahertz.
FAKE_NVML_EXPORT void fake_nvml_measure(unsigned gpu, unsigned memory, unsigned degrees,
                                        unsigned milliwatts, unsigned megahertz);

#ifdef __cplusplus
}
#endif
