// torch.<name>.<part>: the submodules of the device module.
#pragma once

#include <pybind11/pybind11.h>

#include <string>
#include <vector>

namespace outback::python {

/// A new module "torch.<name>.<part>", which is an attribute of `module` and in sys.modules, so
/// that `import torch.<name>.<part>` works once the backend is registered. Once for each `part`.
pybind11::module_ add_submodule(pybind11::module_& module, const char* part, const char* doc);

/// Gives `to` what `from` has under these names: the same objects. They become its `__all__`.
void share_names(const pybind11::module_& from, pybind11::module_& to,
                 const std::vector<std::string>& names);

/// torch.<name>.streams, random, graphs and amp, over what `module` has. After all other
/// definitions.
void define_submodules(pybind11::module_& module);

}  // namespace outback::python
