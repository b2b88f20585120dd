#include "backend_template/runtimes/cuda/visible_devices.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace outback::cuda {
namespace {

using uuids = std::vector<std::string>;

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::vector<std::string_view> entries_of(std::string_view list) {
  std::vector<std::string_view> entries;
  for (;;) {
    const auto comma = list.find(',');
    entries.push_back(trimmed(list.substr(0, comma)));
    if (comma == std::string_view::npos) return entries;
    list.remove_prefix(comma + 1);
  }
}

// As strtoul reads it: what follows the digits is not looked at.
std::optional<std::size_t> index_in(std::string_view entry) {
  if (entry.starts_with('+')) entry.remove_prefix(1);
  std::size_t index = 0;
  const auto [stopped, error] = std::from_chars(entry.data(), entry.data() + entry.size(), index);
  return error == std::errc() ? std::optional(index) : std::nullopt;
}

const machine_gpu* gpu_by_index(std::string_view entry, const std::vector<machine_gpu>& machine) {
  const auto index = index_in(entry);
  return index && *index < machine.size() ? &machine[*index] : nullptr;
}

const machine_gpu* gpu_by_uuid(std::string_view entry, const std::vector<machine_gpu>& machine) {
  if (!entry.starts_with("GPU-")) return nullptr;
  const machine_gpu* found = nullptr;
  for (const machine_gpu& gpu : machine) {
    if (!gpu.uuid.starts_with(entry)) continue;
    if (found != nullptr) return nullptr;  // it could be either
    found = &gpu;
  }
  return found;
}

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
    const auto entries = entries_of(variable);
    if (entries[0].starts_with("MIG-")) return first_instance(entries[0], machine);
    const auto find = entries[0].starts_with("GPU-") ? gpu_by_uuid : gpu_by_index;
    for (const std::string_view entry : entries) {
      const machine_gpu* gpu = find(entry, machine);
      if (gpu == nullptr) break;
      if (std::find(chosen.begin(), chosen.end(), gpu) != chosen.end()) return uuids();
      chosen.push_back(gpu);
    }
  }
  uuids names;
  for (const machine_gpu* gpu : chosen) {
    if (gpu->divided) return std::nullopt;
    names.push_back(gpu->uuid);
  }
  return names;
}

}  // namespace outback::cuda
