// Defines the extension module of a backend's package with one macro, OUTBACK_MODULE. Use this
// header if the module has no functions of its own; otherwise use outback/python.h. Needs
// libtorch_python.
//
// The header includes neither Python's nor pybind11's headers, which take the compiler six seconds.
#pragma once

#include "outback/backend.h"

struct _object;  // PyObject, as Python declares it

namespace outback::detail {

/// Makes the module definition that the module's PyInit function returns to Python. When Python
/// executes the module (Py_mod_exec), it calls `options` and registers that backend. `name` and
/// `options` must live until the process ends. Call it with the GIL held. Returns null, with a
/// Python exception set, if this Python is not the version that the module was compiled for. A
/// shared library can have only one such module.
_object* module_definition(const char* name, backend_options (*options)()) noexcept;

}  // namespace outback::detail

/// Defines the extension module `name`. Follow it with a function body that returns the backend's
/// options:
///
///   OUTBACK_MODULE(_C) {
///     return {.name = "acme", .runtime = outback::linked_runtime()};
///   }
///
/// The body runs once in the process, with the GIL held, when the module is first imported. Then
/// the backend is registered, with all its Python parts: `torch.<name>`, the methods of Tensor,
/// Module, PackedSequence and storages, and the names that PyTorch's Python looks up. If the body
/// or the registration throws, the import raises ImportError with the exception's text.
#define OUTBACK_MODULE(name) OUTBACK_MODULE_(name)
// A second macro expands a `name` that is itself a macro, such as TORCH_EXTENSION_NAME, before ##
// joins it.
#define OUTBACK_MODULE_(name)                                                     \
  static outback::backend_options outback_options_of_##name();                    \
  extern "C" __attribute__((visibility("default"))) _object* PyInit_##name() {    \
    return outback::detail::module_definition(#name, &outback_options_of_##name); \
  }                                                                               \
  static outback::backend_options outback_options_of_##name()
