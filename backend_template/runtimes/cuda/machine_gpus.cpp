// Lists the machine's devices by NVML, for visible_devices.
#include <optional>

#include "backend_template/runtimes/cuda/visible_devices.hpp"

namespace outback::cuda {
namespace {

std::optional<std::string> uuid_of(const nvml& nvml, nvmlDevice_t gpu) {
  char text[nvml_uuid_size] = {};
  if (nvml.uuid(gpu, text, sizeof(text)) != nvml_success) return std::nullopt;
  return text;
}

// Whether the device is in MIG mode. NVML also tells the mode after the next reboot, which does not
// count yet.
bool is_divided(const nvml& nvml, nvmlDevice_t gpu) {
  unsigned now = 0, after_reboot = 0;
  return nvml.mig_mode && nvml.mig_mode(gpu, &now, &after_reboot) == nvml_success && now == 1;
}

std::vector<mig_instance> instances_of(const nvml& nvml, nvmlDevice_t gpu) {
  std::vector<mig_instance> instances;
  unsigned most = 0;
  if (!nvml.most_mig_devices || !nvml.mig_device || !nvml.gpu_instance || !nvml.compute_instance ||
      nvml.most_mig_devices(gpu, &most) != nvml_success) {
    return instances;
  }
  for (unsigned i = 0; i < most; ++i) {
    nvmlDevice_t handle = nullptr;
    mig_instance instance = {};
    // NVML numbers the instances that are possible; not all of them need to exist.
    if (nvml.mig_device(gpu, i, &handle) != nvml_success) continue;
    const auto uuid = uuid_of(nvml, handle);
    if (!uuid || nvml.gpu_instance(handle, &instance.gpu_instance) != nvml_success ||
        nvml.compute_instance(handle, &instance.compute_instance) != nvml_success) {
      continue;
    }
    instance.uuid = *uuid;
    instances.push_back(instance);
  }
  return instances;
}

}  // namespace

std::optional<std::vector<machine_gpu>> gpus_of_machine(const nvml& nvml) {
  unsigned count = 0;
  if (nvml.count(&count) != nvml_success) return std::nullopt;
  std::vector<machine_gpu> machine;
  for (unsigned i = 0; i < count; ++i) {
    nvmlDevice_t gpu = nullptr;
    if (nvml.by_index(i, &gpu) != nvml_success) return std::nullopt;
    const auto uuid = uuid_of(nvml, gpu);
    if (!uuid) return std::nullopt;
    machine.push_back({.uuid = *uuid, .divided = is_divided(nvml, gpu)});
    if (machine.back().divided) machine.back().instances = instances_of(nvml, gpu);
  }
  return machine;
}

}  // namespace outback::cuda
