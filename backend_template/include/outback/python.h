// The Python half of registration: everything of outback/backend.h, then `torch.<name>`, the
// methods of Tensor, Module, PackedSequence and storages, and the names that PyTorch's Python looks
// up. Needs libtorch_python.
#pragma once

#include <pybind11/pybind11.h>

#include "outback/backend.h"

namespace outback {

/// Registers the backend and fills `module` (the extension module of the backend's package) with
/// the native half of its device module. To be called from PYBIND11_MODULE, with the GIL held,
/// once. A module without functions of its own is made with outback/module.h.
void register_backend(pybind11::module_& module, const backend_options& options);

}  // namespace outback
