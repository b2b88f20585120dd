// repr(tensor) on a device that lacks float64.
#pragma once

namespace outback::python {

/// Printing computes in float64, on the tensor's device unless torch knows that this one lacks it.
/// Where ours does, its tensors are brought to the CPU for that.
void teach_printing();

}  // namespace outback::python
