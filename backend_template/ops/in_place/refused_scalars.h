// Where an operator takes no CPU tensor without dimensions beside tensors of the device: where
// torch.cuda's kernels take none. The CPU's kernels would take one anywhere, and the program would
// fail on the first real device that it meets.
#pragma once

#include <span>
#include <string_view>

namespace outback::ops {

/// The lines of cpu_scalars.txt, in its order: `lerp.Tensor: -end -self weight`. A name after a
/// minus is an argument that torch.cuda took no CPU scalar for. "default" is the overload without a
/// name, and `list[0]` the first member of a list, `list[i]` any other.
std::span<const std::string_view> cpu_scalar_answers();

/// True if an argument of an operator, such as "aten::lerp" and "Tensor", takes no CPU scalar; of a
/// list, no member does. False for an operator that torch.cuda was not asked about. Thread-safe.
bool refuses_scalar(std::string_view name, std::string_view overload, std::string_view argument);

}  // namespace outback::ops
