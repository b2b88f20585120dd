// A custom operator, acme::scaled_silu(x, scale) = scale * x * sigmoid(x), as the other files see
// it.
#pragma once

#include <ATen/core/Tensor.h>

namespace acme {

/// Calls the operator, by the dispatcher: below autograd and autocast that is the device's kernel.
at::Tensor scaled_silu(const at::Tensor& self, double scale);

}  // namespace acme
