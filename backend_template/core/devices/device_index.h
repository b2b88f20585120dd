// Reads a device argument that may be text or absent. These are the two steps before
// outback::normalize_device (outback/backend.h), which checks an index; the Python bindings include
// this header where they need only one of the two steps.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "outback/backend.h"

namespace outback::core {

/// Returns the index in the text `device`: the number in "<name>:<index>", the current device for
/// "<name>", and -1 for "cpu" and "cpu:0" if `rules.allow_cpu`. Like torch.device, it accepts
/// "privateuseone" instead of the name, and refuses a sign or a leading zero in the number.
///
/// Does not compare the number with the number of devices. Throws c10::ValueError (ValueError) for
/// any other text, and for a name without an index unless `rules.optional`; and
/// c10::AcceleratorError (torch.AcceleratorError) for a number beyond 64 bits. Starts no device.
int64_t read_device(std::string_view device, device_rules rules);

/// Returns `index`, or the calling thread's device for std::nullopt. Throws what check_index throws
/// for an index out of range, negative ones included, and c10::Error (RuntimeError) before a
/// backend is registered. Starts no device.
c10::DeviceIndex index_or_current(std::optional<c10::DeviceIndex> index);

}  // namespace outback::core
