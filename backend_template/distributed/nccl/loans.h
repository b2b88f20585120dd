// The tensors of one operation as the twin's transport takes them: tensors of the twin over the
// same memory. Nothing is copied, and nobody waits: both devices have the same current stream.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/csrc/distributed/c10d/Types.hpp>

#include <vector>

namespace outback::distributed {

/// How the transport sees a tensor's elements.
enum class elements {
  moved,    // as bytes where NCCL does not have the dtype
  reduced,  // complex ones as two real ones
  rows      // as `moved`, in two dimensions: the first one and all others
};

/// Returns a tensor of the twin with the elements of `tensor`, which lie close together on a device
/// with a twin, in the order of their memory. It keeps the memory alive, and has a version counter
/// of its own.
at::Tensor lend_to_twin(const at::Tensor& tensor, elements as);
std::vector<at::Tensor> lend_to_twin(at::TensorList tensors, elements as);
std::vector<std::vector<at::Tensor>> lend_to_twin(const std::vector<std::vector<at::Tensor>>& lists,
                                                  elements as);

/// Returns the reduction, with its factor lent too if that is a tensor of ours.
c10d::ReduceOp lend_to_twin(const c10d::ReduceOp& reduction);

}  // namespace outback::distributed
