// Direct access of one device's kernels to the memory of another.
#pragma once

#include <c10/core/Device.h>

namespace outback::core {

/// Whether kernels of `device` can use memory of `peer`. False for a device and itself, and without
/// the runtime's group peer. Both indices are range-checked.
bool can_access_peer(c10::DeviceIndex device, c10::DeviceIndex peer);

/// Lets them; again is no error. Throws c10::NotImplementedError without the group, or where
/// `can_access_peer` is false. Copies between devices never need it.
void enable_peer_access(c10::DeviceIndex device, c10::DeviceIndex peer);
void disable_peer_access(c10::DeviceIndex device, c10::DeviceIndex peer);

}  // namespace outback::core
