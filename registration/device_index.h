// A device's name, read and not yet held against the devices that there are.
#pragma once

#include <cstdint>
#include <string_view>

#include "outback/backend.h"

namespace outback::registration {

/// The index in "<name>:<index>", the current device's for "<name>", -1 for the CPU where `rules`
/// allow it. Like torch.device it takes "privateuseone" for the name too. Throws c10::ValueError
/// for anything else, and c10::IndexError for a number beyond 64 bits.
int64_t read_device(std::string_view device, device_rules rules);

}  // namespace outback::registration
