// The arguments that must not be a CPU scalar (a CPU tensor without dimensions) beside tensors of
// the device, as with torch.cuda's kernels. The CPU's kernels would take a CPU scalar anywhere, and
// the program would then fail on a device with kernels of its own.
#pragma once

#include <span>
#include <string_view>

namespace outback::ops {

/// The lines of cpu_scalars.txt, in its order: `lerp.Tensor: -end -self weight`. A minus precedes
/// each argument for which torch.cuda refused a CPU scalar. "default" is the overload without a
/// name, `list[0]` is the first member of a list, and `list[i]` any other member.
std::span<const std::string_view> cpu_scalar_answers();

/// Returns true if `argument` of an operator, such as "aten::lerp" and "Tensor", may not be a CPU
/// scalar. For a list, returns true if no member may be one. Returns false for an operator that was
/// not tried with torch.cuda. Thread-safe.
bool refuses_scalar(std::string_view name, std::string_view overload, std::string_view argument);

}  // namespace outback::ops
