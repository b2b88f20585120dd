// Direct access of one device's kernels to the memory of another device: torch.<name>'s
// can_device_access_peer and its relatives. Copies between devices never need it, since the slot
// mem_copy finds another way where there is no direct one.
#pragma once

#include <c10/core/Device.h>

namespace outback::core {

/// Returns true if kernels of `device` can use memory of `peer`. Returns false for a device and
/// itself, and if the runtime does not have the group peer. Throws what check_index throws for an
/// index out of range. Starts the backend if the runtime has to be asked.
bool can_access_peer(c10::DeviceIndex device, c10::DeviceIndex peer);

/// Lets kernels of `device` use all memory of `peer`, also what is allocated later. It is no error
/// to enable the same pair again.
///
/// Throws c10::ValueError (ValueError) if both indices are equal, what check_index throws for an
/// index out of range, and c10::NotImplementedError (NotImplementedError) if the runtime does not
/// have the group peer or if can_access_peer() is false.
void enable_peer_access(c10::DeviceIndex device, c10::DeviceIndex peer);

/// Undoes `enable_peer_access`; it is no error if that was never called. No work of `device` may
/// use memory of `peer` any more. Throws what `enable_peer_access` throws.
void disable_peer_access(c10::DeviceIndex device, c10::DeviceIndex peer);

}  // namespace outback::core
