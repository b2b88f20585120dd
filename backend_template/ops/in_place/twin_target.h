// A device's twin (core/twin/twin.h) as the engine's target, and the choice between it and the CPU.
#pragma once

#include <ATen/core/TensorBase.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/macros/Macros.h>

#include <vector>

#include "backend_template/ops/in_place/cpu_target.h"
#include "backend_template/ops/tensors/tensor_fields.h"

namespace outback::ops {

/// Returns the targets of all device types that may be twins and that this torch has kernels for.
/// None in a build for the CPU.
const std::vector<const kernel_target*>& twin_targets();

/// Returns the target of a type that core::twin_of has named.
const kernel_target& twin_target(c10::DeviceType type);

/// Returns the target whose kernels serve our device `index`: its twin's, or else the CPU's. Costs
/// a load if there is no twin.
inline const kernel_target& target_of(c10::DeviceIndex index) {
  const auto twin = core::twin_of(index);
  return C10_LIKELY(!twin) ? cpu_target : twin_target(twin->type());
}

/// True if `tensor`, which must be defined, is on a device of ours with a twin. Costs a load if it
/// is not.
inline bool has_twin(const at::TensorBase& tensor) {
  return is_ours(tensor) && core::twin_of(tensor.device().index()).has_value();
}

/// True if a twin's kernel serves the operator and the CPU has none for this layout. On a device
/// without a twin torch composes the operator of others, if it can.
bool is_for_twins_alone(const c10::OperatorHandle& op,
                        c10::DispatchKey layout = c10::DispatchKey::Dense);

}  // namespace outback::ops
