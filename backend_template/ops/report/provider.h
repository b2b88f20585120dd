// Tells whose kernel serves an operator on this device, by the registered kernels. For the operator
// report.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <cstdint>

#include "backend_template/ops/in_place/kernel_target.h"

namespace outback::ops {

/// The first five name the owner of the kernel; for the others no kernel runs.
enum class provider : uint8_t {
  vendor,       // the backend's author
  own,          // Outback, by a kernel written for the device
  portable,     // Outback, by a kernel in the dialect, which the device runs
  in_place,     // another device type, on the device's memory
  over_copies,  // the CPU, over copies of the tensors
  composed,     // torch composes it of other operators, which count by themselves
  elsewhere,    // no tensor of the call is on the device
  refused       // a call fails
};

/// Returns "vendor", "own", "portable", "in place", "over copies", "composed", "elsewhere" or
/// "refused".
const char* name_of(provider who) noexcept;

/// Returns the provider of `op` for dense tensors of a device on which kernels of `target` run. If
/// one of these kernels serves `op`, returns `lent`. Where the operator has a portable kernel,
/// returns `portable` if `has_portable`, and else who comes after it. Asks the dispatcher on each
/// call, which takes 15 us. Thread-safe; calls no slot.
provider provider_of(const c10::OperatorHandle& op, const kernel_target& target, provider lent,
                     bool has_portable);

/// Returns `in_place` if the CPU or a twin can address the memory of `device`, else `over_copies`.
/// Call it after the backend has started.
provider lender_on(c10::DeviceIndex device);

}  // namespace outback::ops
