// The package of the Python sources that are embedded in this library, module/_outback/. Code that
// only calls torch's Python functions is written there. Call both functions with the GIL held; they
// throw errors of Python as pybind11::error_already_set.
#pragma once

#include <pybind11/pybind11.h>

namespace outback::python {

/// Makes the package torch.<name>._outback of the sources, for the device module `module`, and
/// returns it. Executes only its __init__.py. Call it once, before `part`.
pybind11::module_ define_package(pybind11::module_& module);

/// Returns the module torch.<device>._outback.<name>. The first call imports it.
pybind11::module_ part(const char* name);

}  // namespace outback::python
