// What torch.autocast does before an operator of a vendor's or a custom one.
#pragma once

#include <torch/library.h>

#include <cstdint>

namespace outback::kernels {

/// torch's at::autocast::CastPolicy. Each concerns the floating-point tensors of this device among
/// the arguments, but those of float64.
enum class cast_policy : uint8_t {
  lower_precision_fp,  // to the dtype of torch.autocast: for what is fast there, as matmul
  fp32,                // to float32: for what needs its range, as exp
  promote              // to the widest of them: for what takes several, as addcmul
};

/// The kernel that casts by `policy` and calls the operator again, below autocast. For any
/// operator, in a TORCH_LIBRARY_IMPL block of AutocastPrivateUse1:
///
///   m.impl("scaled_silu", outback::kernels::autocast(cast_policy::fp32));
///
/// Casts of parameters are cached as PyTorch does it. PyTorch's own operators have their policies
/// from Outback already; one that is registered before register_backend() takes precedence. An
/// operator without a policy runs in the dtypes it is given.
torch::CppFunction autocast(cast_policy policy);

}  // namespace outback::kernels
