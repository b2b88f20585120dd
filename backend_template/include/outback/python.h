// Registers a backend from an extension module that pybind11 makes. Use this header if your module
// has functions of its own; otherwise outback/module.h is shorter. Needs libtorch_python.
#pragma once

#include <pybind11/pybind11.h>

#include "outback/backend.h"

namespace outback {

/// Registers the backend like `register_backend` in outback/backend.h, and then adds its Python
/// parts: `torch.<name>`, the methods of Tensor, Module, PackedSequence and storages, and the names
/// that PyTorch's Python looks up. Imports torch.
///
/// `module` is the extension module of the backend's package. The module becomes `torch.<name>` and
/// gets Outback's functions and classes that are written in C++; Python keeps the module until the
/// process ends. Call this function from PYBIND11_MODULE, with the GIL held. A second call with the
/// same options, for example after a reload, copies the functions and classes to the new module.
///
/// Throws std::runtime_error with the reason if the registration is refused, and
/// pybind11::error_already_set for a Python exception. pybind11 turns both into an ImportError.
void register_backend(pybind11::module_& module, const backend_options& options);

}  // namespace outback
