// Direct access from one device's kernels to the memory of another device: torch.<name>'s
// can_device_access_peer. Copies between devices never need this access, since the slot mem_copy
// finds another way.
#pragma once

#include <c10/core/Device.h>

namespace outback::core {

/// Returns true if kernels of `device` can use memory of `peer`. Returns false if both are the same
/// device, and if the runtime does not have the group peer. Throws what check_index throws for an
/// index out of range. Starts the backend if it has to ask the runtime.
///
/// Kernels that want the access call the slots peer.enable and peer.disable. Core calls neither
/// slot.
bool can_access_peer(c10::DeviceIndex device, c10::DeviceIndex peer);

}  // namespace outback::core
