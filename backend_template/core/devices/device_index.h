// What stands before outback::normalize_device: a device's name read, an index left out.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "outback/backend.h"

namespace outback::core {

/// The index in "<name>:<index>", the current device's for "<name>", -1 for the CPU where `rules`
/// allow it. Like torch.device it takes "privateuseone" for the name too. Throws c10::ValueError
/// for anything else, and c10::AcceleratorError for a number beyond 64 bits.
int64_t read_device(std::string_view device, device_rules rules);

/// The index, range-checked; the current device's where there is none.
c10::DeviceIndex index_or_current(std::optional<c10::DeviceIndex> index);

}  // namespace outback::core
