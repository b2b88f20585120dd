// The package of the sources in Python that are a part of this library, module/_outback/: what
// only talks to torch's Python is written there. With the GIL held; errors of Python are thrown as
// pybind11::error_already_set.
#pragma once

#include <pybind11/pybind11.h>

namespace outback::python {

/// Makes the package torch.<name>._outback of the sources, for the device module `module`, and
/// returns it. Executes its __init__.py only. Once, before `part`.
pybind11::module_ define_package(pybind11::module_& module);

/// Returns the module torch.<name>._outback.<name>, which is imported at the first call.
pybind11::module_ part(const char* name);

}  // namespace outback::python
