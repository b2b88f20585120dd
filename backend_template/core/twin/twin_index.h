// Finds PyTorch's own device for the hardware of a device of this backend.
#pragma once

#include <c10/core/Device.h>

#include <optional>

#include "outback/runtime.h"

namespace outback::core {

/// Returns the index of PyTorch's device of type `type` for the same hardware as this backend's
/// device `index`, whose properties are `info`. Returns std::nullopt if PyTorch does not have the
/// device: a variable such as CUDA_VISIBLE_DEVICES may hide it. PyTorch's device type must have
/// started.
///
/// Compares CUDA devices by the UUIDs from CUDA's driver, since a runtime may count its devices in
/// another order. If `info` has no UUID, and for all other types, returns the same index.
std::optional<c10::DeviceIndex> twin_index(c10::DeviceType type, const outback_device_info& info,
                                           c10::DeviceIndex index);

}  // namespace outback::core
