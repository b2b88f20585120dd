// Who serves an operator on this device, as it is registered: for the operator report.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <cstdint>

#include "backend_template/ops/in_place/kernel_target.h"

namespace outback::ops {

/// The first four say whose kernel it is.
enum class provider : uint8_t {
  vendor,       // the backend's author
  own,          // Outback, by a kernel written for the device
  in_place,     // another device type, on the device's memory
  over_copies,  // the CPU, over copies of the tensors
  composed,     // nobody: torch composes it of other operators, which count for themselves
  elsewhere,    // nobody: no tensor of the call is on the device
  refused       // nobody: a call fails
};

/// Returns "vendor", "own", "in place", "over copies", "composed", "elsewhere" or "refused".
const char* name_of(provider who) noexcept;

/// Returns who serves `op` on dense tensors of a device that `target` lends its kernels to; `lent`
/// if that is one of these kernels. Asks the dispatcher each time, which takes 15 us. Thread-safe;
/// calls no slot.
provider provider_of(const c10::OperatorHandle& op, const kernel_target& target, provider lent);

/// Returns `in_place` if the CPU or a twin reaches the memory of `device`, else `over_copies`.
/// After the backend has started.
provider lender_on(c10::DeviceIndex device);

}  // namespace outback::ops
