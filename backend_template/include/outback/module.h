// The extension module of a backend's package, whole: outback/backend.h, and one definition. Needs
// libtorch_python.
//
// It includes neither Python's nor pybind11's headers, which take the compiler six seconds. A
// module that has functions of its own besides is made with outback/python.h.
#pragma once

#include "outback/backend.h"

struct _object;  // PyObject, as Python declares it

namespace outback::detail {

/// What Python gets from the module's PyInit function: the definition of a module that registers
/// the backend of `options` when it is executed. A null pointer and a Python exception if this is
/// another Python than the one it was compiled for. One module for each shared library.
_object* module_definition(const char* name, backend_options (*options)()) noexcept;

}  // namespace outback::detail

/// Defines the extension module `name`: a function body that returns the backend's options.
///
///   OUTBACK_MODULE(_C) {
///     return {.name = "acme", .runtime = outback::linked_runtime()};
///   }
///
/// It runs once, when the module is imported, with the GIL held; then the backend is registered,
/// with all that belongs to Python: `torch.<name>`, the methods of Tensor, Module, PackedSequence
/// and storages, the names that PyTorch's Python looks up. What it throws is an ImportError with
/// its text.
#define OUTBACK_MODULE(name) OUTBACK_MODULE_(name)
// Once more, for a name that is a macro: TORCH_EXTENSION_NAME.
#define OUTBACK_MODULE_(name)                                                     \
  static outback::backend_options outback_options_of_##name();                    \
  extern "C" __attribute__((visibility("default"))) _object* PyInit_##name() {    \
    return outback::detail::module_definition(#name, &outback_options_of_##name); \
  }                                                                               \
  static outback::backend_options outback_options_of_##name()
