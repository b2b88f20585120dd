#include "backend_template/runtimes/cuda/visible_devices.hpp"

#include <algorithm>
#include <string_view>

#include "outback/detail/device_list.hpp"

namespace outback::cuda {
namespace {

using uuids = std::vector<std::string>;

const machine_gpu* gpu_by_index(std::string_view entry, const std::vector<machine_gpu>& machine) {
  const auto index = outback::detail::device_list_number(entry);
  return index && *index < machine.size() ? &machine[*index] : nullptr;
}

// Returns the one device whose UUID begins with `entry`, or null.
const machine_gpu* gpu_by_uuid(std::string_view entry, const std::vector<machine_gpu>& machine) {
  if (!entry.starts_with("GPU-")) return nullptr;
  const machine_gpu* found = nullptr;
  for (const machine_gpu& gpu : machine) {
    if (!gpu.uuid.starts_with(entry)) continue;
    if (found != nullptr) return nullptr;  // a UUID that was cut too short names no device
    found = &gpu;
  }
  return found;
}

// Whether the entry names this instance: by its own UUID, or in the older form, by the device's
// UUID and the two numbers.
bool is_instance(std::string_view entry, const machine_gpu& gpu, const mig_instance& instance) {
  return entry == instance.uuid || entry == "MIG-" + gpu.uuid + "/" +
                                                std::to_string(instance.gpu_instance) + "/" +
                                                std::to_string(instance.compute_instance);
}

uuids first_instance(std::string_view entry, const std::vector<machine_gpu>& machine) {
  for (const machine_gpu& gpu : machine) {
    for (const mig_instance& instance : gpu.instances) {
      if (is_instance(entry, gpu, instance)) return {instance.uuid};
    }
  }
  return {};
}

}  // namespace

std::optional<uuids> visible_devices(const char* variable,
                                     const std::vector<machine_gpu>& machine) {
  std::vector<const machine_gpu*> chosen;
  if (variable == nullptr) {
    for (const machine_gpu& gpu : machine) chosen.push_back(&gpu);
  } else {
    const auto entries = outback::detail::device_list_entries(variable);
    // A process sees one instance at most, so the other entries do not count.
    if (entries[0].starts_with("MIG-")) return first_instance(entries[0], machine);
    // The first entry decides how all are read.
    const auto find = entries[0].starts_with("GPU-") ? gpu_by_uuid : gpu_by_index;
    for (const std::string_view entry : entries) {
      const machine_gpu* gpu = find(entry, machine);
      if (gpu == nullptr) break;
      // CUDA then leaves the process no device.
      if (std::find(chosen.begin(), chosen.end(), gpu) != chosen.end()) return uuids();
      chosen.push_back(gpu);
    }
  }
  uuids names;
  for (const machine_gpu* gpu : chosen) {
    // Only CUDA can tell which instance the process gets.
    if (gpu->divided) return std::nullopt;
    names.push_back(gpu->uuid);
  }
  return names;
}

}  // namespace outback::cuda
