// A backend that is registered when a test says so, under the name that it says, in a process that
// may have another.
#include <outback/python.h>
#include <pybind11/stl.h>

#include <string>
#include <vector>

#include "backend_template/runtimes/null/null.h"
#include "registration/python/dtype.h"

namespace py = pybind11;

PYBIND11_MODULE(outback_probe, module) {
  module.def(
      "register",
      [module](const std::string& name, const std::vector<py::object>& unsupported_dtypes,
               bool tensor_methods, bool module_methods, bool packed_sequence_methods,
               bool storage_methods, const std::vector<std::string>& excluded_operators) mutable {
        std::vector<c10::ScalarType> unsupported;
        for (const py::object& dtype : unsupported_dtypes) {
          unsupported.push_back(outback::python::as_scalar_type(dtype));
        }
        outback::register_backend(module, {.name = name,
                                           .runtime = outback_null_runtime(),
                                           .unsupported_dtypes = unsupported,
                                           .excluded_operators = excluded_operators,
                                           .tensor_methods = tensor_methods,
                                           .module_methods = module_methods,
                                           .packed_sequence_methods = packed_sequence_methods,
                                           .storage_methods = storage_methods});
      },
      py::arg("name"), py::kw_only(), py::arg("unsupported_dtypes") = std::vector<py::object>(),
      py::arg("tensor_methods") = true, py::arg("module_methods") = true,
      py::arg("packed_sequence_methods") = true, py::arg("storage_methods") = true,
      py::arg("excluded_operators") = std::vector<std::string>());
}
