// Makes torch.autocast cast the arguments of an operator that a vendor or a user has defined.
// PyTorch's own operators do not need this header: Outback registers their policies.
#pragma once

#include <torch/library.h>

#include <cstdint>

namespace outback::kernels {

/// The dtype that the arguments are cast to, as in at::autocast::CastPolicy (ATen/autocast_mode.h).
/// Every policy casts only floating-point tensors of this device, and never float64.
enum class cast_policy : uint8_t {
  lower_precision_fp,  // the dtype of torch.autocast: for operators it makes fast, like matmul
  fp32,                // float32: for operators that need its range, like exp
  promote              // the widest dtype among the arguments: for several tensors, like addcmul
};

/// Returns a boxed kernel that casts the arguments by `policy` and calls the operator again with
/// autocast off. It works for any operator. Register it in a TORCH_LIBRARY_IMPL block of the key
/// AutocastPrivateUse1:
///
///   m.impl("scaled_silu", outback::kernels::autocast(cast_policy::fp32));
///
/// Tensors in lists are cast too. PyTorch's own at::autocast::cached_cast caches the casts of
/// parameters until the autocast region ends. A policy that you register for one of PyTorch's own
/// operators before register_backend() takes precedence over Outback's. An operator without a
/// policy runs in the dtypes of its arguments.
///
/// With `promote`, the call throws c10::Error for a lower-precision tensor that has another dtype
/// than torch.autocast. Thread-safe.
torch::CppFunction autocast(cast_policy policy);

}  // namespace outback::kernels
