// Registers a backend from an extension module that pybind11 makes. Use it if your module has
// functions of its own; otherwise outback/module.h is shorter. Needs libtorch_python.
#pragma once

#include <pybind11/pybind11.h>

#include "outback/backend.h"

namespace outback {

/// Registers the backend as `register_backend` of outback/backend.h does, and then for Python: it
/// makes `torch.<name>`, the methods of Tensor, Module, PackedSequence and storages, and the names
/// that PyTorch's Python looks up. Imports torch.
///
/// `module` is the extension module of the backend's package. It becomes `torch.<name>` and gets
/// the functions and classes that are written in C++; Python keeps it until the process ends. Call
/// it from PYBIND11_MODULE, with the GIL held. A second call with the same options, as after a
/// reload, copies the functions and classes to the new module.
///
/// Throws std::runtime_error with the text if the registration is refused, and
/// pybind11::error_already_set for an exception of Python's. pybind11 makes an ImportError of both.
void register_backend(pybind11::module_& module, const backend_options& options);

}  // namespace outback
