// Lets repr(tensor) work on a device without float64.
#pragma once

namespace outback::python {

/// torch/_tensor_str.py computes in float64 how to print the elements of a tensor, on the tensor's
/// device, except on devices that torch knows to lack float64. If this device lacks it, wraps that
/// conversion so that tensors of this backend are copied to the CPU first; else does nothing. Once,
/// after the registration, with the GIL held.
void teach_printing();

}  // namespace outback::python
