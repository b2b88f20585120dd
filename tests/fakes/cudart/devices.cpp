#include "tests/fakes/cudart/devices.hpp"

#include <algorithm>
#include <cctype>
#include <cstdio>

namespace fake_cuda {
namespace {

// Fixed, so that all processes of a test see the same, and different in their first characters.
std::array<uint8_t, 16> make_uuid(int physical, int instance) {
  std::array<uint8_t, 16> uuid = {};
  uint64_t state = (uint64_t(physical) + 1) * 0x9e3779b97f4a7c15u + uint64_t(instance + 1);
  for (uint8_t& byte : uuid) {
    state ^= state >> 27;
    state *= 0x94d049bb133111ebu;
    byte = uint8_t(state >> 56);
  }
  return uuid;
}

std::string spell(const std::array<uint8_t, 16>& uuid, const char* prefix) {
  std::string text = prefix;
  for (std::size_t i = 0; i < uuid.size(); ++i) {
    char digits[3];
    std::snprintf(digits, sizeof(digits), "%02x", uuid[i]);
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += digits;
  }
  return text;
}

bool begins_with(const std::string& text, const std::string& prefix) {
  return std::equal(prefix.begin(), prefix.end(), text.begin(),
                    text.begin() + std::ptrdiff_t(std::min(prefix.size(), text.size())),
                    [](char a, char b) { return std::tolower(a) == std::tolower(b); });
}

// What CUDA enumerates for a whole device.
device_description enumerated(const settings& given, const device_description& whole) {
  const auto instances = instances_of(given, whole.physical);
  return instances.empty() ? whole : instances.front();
}

std::optional<device_description> the_only_one(const std::vector<device_description>& all,
                                               const std::string& prefix) {
  std::optional<device_description> found;
  for (const device_description& each : all) {
    if (!begins_with(each.uuid_text, prefix)) continue;
    if (found) return std::nullopt;
    found = each;
  }
  return found;
}

// "MIG-<uuid>", or the older "MIG-GPU-<uuid of the device>/<gpu instance>/<compute instance>".
std::optional<device_description> find_instance(const settings& given,
                                                const std::vector<device_description>& whole,
                                                const std::string& entry) {
  std::vector<device_description> all;
  for (const auto& each : whole) {
    for (const auto& instance : instances_of(given, each.physical)) all.push_back(instance);
  }
  if (!begins_with(entry, "MIG-GPU-")) return the_only_one(all, entry);
  const auto parts = split(entry, '/');
  if (parts.size() != 3) return std::nullopt;
  const auto device = the_only_one(whole, parts[0].substr(4));
  for (const auto& each : all) {
    if (device && each.physical == device->physical &&
        parts[1] == std::to_string(each.instance + 1) && parts[2] == "0") {
      return each;
    }
  }
  return std::nullopt;
}

std::optional<device_description> find(const settings& given, const std::string& entry) {
  const auto whole = physical_devices(given);
  if (begins_with(entry, "MIG-")) return find_instance(given, whole, entry);
  std::optional<device_description> found;
  if (begins_with(entry, "GPU-")) {
    found = the_only_one(whole, entry);
  } else {
    unsigned index = 0;
    int used = 0;
    if (std::sscanf(entry.c_str(), "%u%n", &index, &used) == 1 &&
        std::size_t(used) == entry.size() && index < whole.size()) {
      found = whole[index];
    }
  }
  return found ? std::optional(enumerated(given, *found)) : std::nullopt;
}

}  // namespace

std::vector<device_description> physical_devices(const settings& given) {
  std::vector<device_description> all;
  for (int i = 0; i < given.devices; ++i) {
    device_description made;
    made.physical = i;
    made.memory = given.memory;
    made.name = given.names.empty() ? "Fake CUDA device"
                                    : given.names[std::min(std::size_t(i), given.names.size() - 1)];
    made.uuid = make_uuid(i, -1);
    made.uuid_text = spell(made.uuid, "GPU-");
    made.pci_bus = i + 1;
    all.push_back(std::move(made));
  }
  return all;
}

std::vector<device_description> instances_of(const settings& given, int physical) {
  std::vector<device_description> all;
  for (const auto& [device, count] : given.mig) {
    if (device != physical) continue;
    const device_description whole = physical_devices(given).at(std::size_t(physical));
    for (int i = 0; i < count; ++i) {
      device_description made = whole;
      made.instance = i;
      made.memory = whole.memory / std::size_t(count);
      made.name += " MIG 1g";
      made.uuid = make_uuid(physical, i);
      made.uuid_text = spell(made.uuid, "MIG-");
      all.push_back(std::move(made));
    }
  }
  return all;
}

std::vector<device_description> visible_devices(const settings& given) {
  std::vector<device_description> seen;
  if (!given.visible) {
    for (const auto& each : physical_devices(given)) seen.push_back(enumerated(given, each));
  } else {
    for (std::string entry : split(*given.visible)) {
      entry.erase(std::remove(entry.begin(), entry.end(), ' '), entry.end());
      const auto found = find(given, entry);
      if (!found) break;
      for (const auto& before : seen) {
        if (before.uuid == found->uuid) return {};
      }
      seen.push_back(*found);
    }
  }
  // With instances, the first one is all that a process gets.
  for (const auto& each : seen) {
    if (each.instance >= 0) return {each};
  }
  return seen;
}

std::string pci_id(const device_description& device) {
  char text[16];
  std::snprintf(text, sizeof(text), "0000:%02x:00.0", unsigned(device.pci_bus) & 0xff);
  return text;
}

}  // namespace fake_cuda
