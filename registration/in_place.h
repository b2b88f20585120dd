// A tensor that goes to the device and stays the object it is.
#pragma once

#include <ATen/core/Tensor.h>

namespace outback::registration {

/// Makes `tensor` hold what `moved`, its copy on the device, holds: memory, device and keys. All
/// that refers to it goes on doing so: modules, optimizers, autograd. That is what `tensor.data =
/// moved` does among devices that torch knows to have one class of tensors; PrivateUse1 is not one
/// of them. Both are dense.
void become(const at::Tensor& tensor, const at::Tensor& moved);

}  // namespace outback::registration
