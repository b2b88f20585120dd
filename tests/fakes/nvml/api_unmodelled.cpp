// NVML's entry points that torch looks up beside what it needs. Each answers
// NVML_ERROR_NOT_SUPPORTED; nobody reads their parameters.
#include "tests/fakes/nvml/nvml_machine.hpp"

#define FAKE_NVML_UNMODELLED(name)                                                               \
  FAKE_NVML_EXPORT nvmlReturn_t name() {                                                         \
    return fake_nvml::enter(                                                                     \
        #name, [](fake_nvml::machine&) { throw fake_nvml::failure{NVML_ERROR_NOT_SUPPORTED}; }); \
  }

extern "C" {

FAKE_NVML_UNMODELLED(nvmlDeviceGetGpuFabricInfoV)
FAKE_NVML_UNMODELLED(nvmlDeviceGetNvLinkRemoteDeviceType)
FAKE_NVML_UNMODELLED(nvmlDeviceGetNvLinkRemotePciInfo_v2)

}  // extern "C"
