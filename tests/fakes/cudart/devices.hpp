// Which devices the fake machine has, and which of them a process sees. The fake NVML has the same.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/fakes/cudart/settings.hpp"

namespace fake_cuda {

/// A device, or an instance of one that is partitioned (MIG).
struct device_description {
  int physical = 0;   // which device of the machine
  int instance = -1;  // of that device; -1: the whole device
  std::size_t memory = 0;
  std::string name;
  std::array<uint8_t, 16> uuid = {};
  std::string uuid_text;  // "GPU-..." or "MIG-...", as NVML and CUDA_VISIBLE_DEVICES spell it
  int pci_bus = 0;        // domain 0, device 0
};

/// Every whole device of the machine, in PCI order; CUDA_VISIBLE_DEVICES has no say here.
std::vector<device_description> physical_devices(const settings& given);
/// The instances of one of them; none where it is not partitioned.
std::vector<device_description> instances_of(const settings& given, int physical);
/// What CUDA enumerates. As the programming guide has it, an entry that names nothing ends the
/// list, and one device twice leaves none. A partitioned device is not there as a whole: its number
/// or UUID stands for its first instance. Only one instance is ever enumerated.
std::vector<device_description> visible_devices(const settings& given);

/// "0000:01:00.0".
std::string pci_id(const device_description& device);

}  // namespace fake_cuda
