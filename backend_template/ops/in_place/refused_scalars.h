// Where an operator takes no CPU tensor without dimensions beside tensors of the device: where
// torch.cuda's kernels take none. The CPU's kernels would take one anywhere, and the program would
// fail on the first real device that it meets.
#pragma once

#include <string_view>

namespace outback::ops {

/// Names of an operator's arguments. Its texts live until the process ends.
struct argument_names {
  std::string_view spelled;  // separated by spaces; by a slash if torch has renamed one

  bool contains(std::string_view name) const;
};

/// Returns the arguments of an operator, such as "aten::lerp" and "Tensor", that take no CPU
/// scalar. Of a list it is all members. What the operator writes is not among them, since it takes
/// no CPU tensor in any case. Empty for an operator that CUDA was not asked about. Thread-safe.
argument_names refused_scalars(std::string_view name, std::string_view overload);

}  // namespace outback::ops
