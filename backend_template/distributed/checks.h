// What every group refuses before anything is sent. A wrong argument that one process finds while
// the others already communicate would leave them waiting. All throw c10::ValueError (ValueError).
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/csrc/distributed/c10d/Types.hpp>

#include <optional>

#include "backend_template/distributed/collective.h"

namespace outback::distributed {

/// Returns the device of all tensors of `wanted`: the CPU, or one of this backend. Refuses anything
/// else: no tensor at all, two devices, or one that is not `bound`, that of the group.
c10::Device checked_device(const collective& wanted, std::optional<c10::Device> bound);

/// Refuses tensors that do not lie in memory as the operation wants it, or do not fit to each
/// other, and ranks that the group does not have: a transport would wait for them.
void check(const collective& wanted);

/// Refuses a tensor that the group cannot send as it lies in memory: sparse, quantized, nested, or
/// not as `wanted`.
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

/// Returns the size of the first dimension, 1 if there is none.
int64_t rows_of(const at::Tensor& tensor);

}  // namespace outback::distributed
