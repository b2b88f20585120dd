// The types by device and dtype that came before torch.device: torch.<name>.FloatTensor,
// torch.<name>.FloatStorage and so on. Internal to module/.
#pragma once

#include <pybind11/pybind11.h>

namespace outback::python {

/// Adds the types that torch.cuda has to the device module. Once, with the GIL held.
/// torch.set_default_tensor_type does not accept them: it takes only types that torch made itself.
void define_legacy_types(pybind11::module_& module);

}  // namespace outback::python
