// The submodules of the device module, torch.<name>.<part>. Internal to module/; with the GIL held.
#pragma once

#include <pybind11/pybind11.h>

#include <string>
#include <vector>

namespace outback::python {

/// Makes a module "torch.<name>.<part>", an attribute of `module` that sys.modules has too, so that
/// `import torch.<name>.<part>` works once the backend is registered. Once for each `part`.
pybind11::module_ add_submodule(pybind11::module_& module, const char* part, const char* doc);

/// Gives `to` the same objects that `from` has under `names`, and makes `names` its `__all__`.
void share_names(const pybind11::module_& from, pybind11::module_& to,
                 const std::vector<std::string>& names);

/// Makes torch.<name>.streams, random, graphs and amp of what `module` has. After all other
/// definitions.
void define_submodules(pybind11::module_& module);

}  // namespace outback::python
