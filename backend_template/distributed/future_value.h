// The value of an operation's future, in the form of Gloo's and NCCL's futures.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <vector>

namespace outback::distributed {

/// A list of tensors, or a list of lists if `outputs` has several.
inline c10::TypePtr value_type(const std::vector<std::vector<at::Tensor>>& outputs) {
  const c10::TypePtr list = c10::ListType::create(c10::TensorType::get());
  return outputs.size() > 1 ? c10::TypePtr(c10::ListType::create(list)) : list;
}

inline c10::IValue value_of(const std::vector<std::vector<at::Tensor>>& outputs) {
  if (outputs.size() > 1) return outputs;
  return outputs.empty() ? std::vector<at::Tensor>() : outputs.front();
}

}  // namespace outback::distributed
