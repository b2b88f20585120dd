// A backend that is registered when a test says so, under the name that it says, in a process that
// may have another.
#include <outback/python.h>

#include <string>

#include "backend_template/runtimes/null/null.h"

namespace py = pybind11;

PYBIND11_MODULE(outback_probe, module) {
  module.def(
      "register",
      [module](const std::string& name, bool tensor_methods, bool module_methods) mutable {
        outback::register_backend(module, {.name = name,
                                           .runtime = outback_null_runtime(),
                                           .tensor_methods = tensor_methods,
                                           .module_methods = module_methods});
      },
      py::arg("name"), py::arg("tensor_methods") = true, py::arg("module_methods") = true);
}
