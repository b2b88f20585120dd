// The extension module that `_loading.py` of a package, and torch_outback.load(), register a
// backend with. It is a part of outback::python, so that no project compiles it.
#pragma once

struct _object;  // PyObject, as Python declares it

namespace outback::loader {

/// What PyInit__C returns: the definition of a module with the functions `_table` and `_register`.
/// Null with the error set where it cannot be made. Call it with the GIL held.
_object* module_definition() noexcept;

}  // namespace outback::loader
