// Which of PyTorch's own devices is the hardware of a device of ours.
#pragma once

#include <c10/core/Device.h>

#include <optional>

#include "outback/runtime.h"

namespace outback::core {

/// Returns the index of the device of PyTorch's `type` that is the same hardware as ours, which has
/// the properties `info` and the index `index`. Nothing if PyTorch does not have it: a variable
/// such as CUDA_VISIBLE_DEVICES may hide it. PyTorch's device type must have started.
///
/// CUDA's devices are compared by their UUIDs, which CUDA's driver tells, since a runtime may count
/// its devices in another order. Where ours has none, and for all other types, the index is
/// the same.
std::optional<c10::DeviceIndex> twin_index(c10::DeviceType type, const outback_device_info& info,
                                           c10::DeviceIndex index);

}  // namespace outback::core
