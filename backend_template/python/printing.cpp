#include "backend_template/python/printing.h"

#include <ATen/core/Tensor.h>
#include <pybind11/pybind11.h>
#include <torch/csrc/autograd/python_variable.h>

#include "backend_template/core/devices/dtypes.h"
#include "outback/backend.h"

namespace py = pybind11;

namespace outback::python {

void teach_printing() {
  if (core::supports(c10::ScalarType::Double)) return;
  const py::module_ printing = py::module_::import("torch._tensor_str");
  // The function by which torch converts a tensor to float64; its callers look it up in the module.
  const py::object convert = printing.attr("tensor_totype");
  printing.attr("tensor_totype") = py::cpp_function([convert](const py::object& tensor) {
    const bool is_ours =
        THPVariable_Check(tensor.ptr()) && is_backend(THPVariable_Unpack(tensor.ptr()));
    return convert(is_ours ? tensor.attr("cpu")() : tensor);
  });
}

}  // namespace outback::python
