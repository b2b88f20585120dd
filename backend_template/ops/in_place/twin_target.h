// A device's twin (core/twin/twin.h) as the engine's target, and the choice between it and the CPU.
#pragma once

#include <ATen/core/TensorBase.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/macros/Macros.h>

#include <vector>

#include "backend_template/ops/in_place/cpu_target.h"
#include "backend_template/ops/tensors/tensor_fields.h"

namespace outback::ops {

/// Returns the targets for all device types that may be twins and for which this torch has kernels.
/// The list is empty in a CPU-only build of torch.
const std::vector<const kernel_target*>& twin_targets();

/// Returns the target for the type of a twin that core::twin_of has returned.
const kernel_target& twin_target(c10::DeviceType type);

/// Returns the target whose kernels serve the device `index` of this backend: its twin, or else the
/// CPU. Costs one load without a twin.
inline const kernel_target& target_of(c10::DeviceIndex index) {
  const auto twin = core::twin_of(index);
  return C10_LIKELY(!twin) ? cpu_target : twin_target(twin->type());
}

/// Returns true if `tensor`, which must be defined, is on a device of this backend with a twin.
/// Costs one load for a tensor on another device type.
inline bool has_twin(const at::TensorBase& tensor) {
  return is_ours(tensor) && core::twin_of(tensor.device().index()).has_value();
}

/// Returns true if a twin has a kernel for the operator and this layout, and the CPU does not. On a
/// device without a twin torch composes such an operator of others, if it can.
bool is_for_twins_alone(const c10::OperatorHandle& op,
                        c10::DispatchKey layout = c10::DispatchKey::Dense);

}  // namespace outback::ops
