// The checks that every group makes before it sends anything: if one process found a wrong argument
// while the others already communicate, the others would wait for it. All checks throw
// c10::ValueError (ValueError).
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/csrc/distributed/c10d/Types.hpp>

#include <optional>

#include "backend_template/distributed/collective.h"

namespace outback::distributed {

/// Returns the device of all tensors of `wanted`: the CPU, or a device of this backend. Refuses a
/// call without tensors, with tensors on other or several devices, or on a device other than
/// `bound`, to which the group is bound.
c10::Device checked_device(const collective& wanted, std::optional<c10::Device> bound);

/// Refuses tensors whose memory layout, sizes or dtypes do not fit the operation, and ranks that
/// the group does not have, for which a transport would wait.
void check(const collective& wanted);

/// Refuses a tensor whose memory the group cannot send as it is: sparse, quantized, nested, or not
/// in the layout `wanted`.
void check_layout(const operation& what, const tensors& all, layout wanted);

/// Refuses a `whole` that does not have as many elements as `count` tensors like `part`.
void check_parts(const operation& what, const at::Tensor& whole, const at::Tensor& part, int count);

// ---- For the checks of transports

/// Returns "SUM" for ReduceOp.SUM.
const char* name_of(const c10d::ReduceOp& reduction);

/// Returns true for the dtypes that both Gloo and NCCL have.
bool has_dtype(c10::ScalarType dtype);

/// Returns the outputs and the inputs of `wanted`.
tensors tensors_of(const collective& wanted);

/// Returns the size of the first dimension, or 1 for a tensor without dimensions.
int64_t rows_of(const at::Tensor& tensor);

}  // namespace outback::distributed
