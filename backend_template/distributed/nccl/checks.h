// What a group over NCCL refuses before anything is sent. checks.h has what all groups refuse.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/csrc/distributed/c10d/Types.hpp>

#include <optional>
#include <vector>

#include "backend_template/distributed/checks.h"

namespace outback::distributed {

/// Throws c10::ValueError (ValueError) for tensors that are not all on one device of ours, `bound`
/// if it is set, whose twin is CUDA's; and what check_layout throws.
void check_on_twin(const operation& what, const std::vector<at::Tensor>& tensors, layout wanted,
                   std::optional<c10::Device> bound);

/// Returns true if NCCL has the dtype. What it only moves is lent as bytes if not.
bool nccl_has_dtype(c10::ScalarType dtype);

/// Throws c10::ValueError if NCCL cannot reduce `dtype` with `reduction`.
void check_nccl_reduction(const operation& what, const c10d::ReduceOp& reduction,
                          c10::ScalarType dtype);

/// Throws c10::NotImplementedError (NotImplementedError) for an operation that NCCL does not have.
[[noreturn]] void refuse_absent(const operation& what, const char* advice);

}  // namespace outback::distributed
