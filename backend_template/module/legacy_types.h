// The types by device and dtype that came before torch.device: torch.<name>.FloatTensor,
// torch.<name>.FloatStorage.
#pragma once

#include <pybind11/pybind11.h>

namespace outback::python {

/// Adds them, as far as torch.cuda has them. torch lets PrivateUse1 have no part in
/// torch.set_default_tensor_type: it takes only types that it made itself.
void define_legacy_types(pybind11::module_& module);

}  // namespace outback::python
