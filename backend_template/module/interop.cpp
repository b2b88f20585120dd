// as_cuda and from_cuda: tensors that share memory with torch.cuda's.
#include "backend_template/ops/own/interop.h"

#include <c10/util/Exception.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/pybind.h>

#include <utility>
#include <vector>

#include "backend_template/core/twin/twin.h"
#include "backend_template/module/device_module.h"
#include "backend_template/ops/tensors/tensor_fields.h"

namespace py = pybind11;

namespace outback::python {
namespace {

constexpr c10::DeviceType twins_type = c10::DeviceType::CUDA;

bool may_be_lent(const at::Tensor& tensor) {
  if (!tensor.defined() || !ops::is_ours(tensor)) return false;
  const auto twin = core::twin_of(tensor.device().index());
  return twin && twin->type() == twins_type;
}

// The tensor that `value` is, or none.
const at::Tensor* tensor_in(py::handle value) {
  return THPVariable_Check(value.ptr()) ? &THPVariable_Unpack(value.ptr()) : nullptr;
}

// The next two are what a compiled graph does each time that it runs, with some hundreds of
// tensors. In Python they took a twentieth of a compiled training step of GPT-2.

py::list lend_all(const py::list& values) {
  py::list lent(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    py::object value = values[i];
    const at::Tensor* tensor = tensor_in(value);
    lent[i] = tensor != nullptr && may_be_lent(*tensor)
                  ? py::cast(ops::as_twin(*tensor, twins_type))
                  : std::move(value);
  }
  if (PyList_SetSlice(values.ptr(), 0, PyList_GET_SIZE(values.ptr()), nullptr) != 0) {
    throw py::error_already_set();
  }
  return lent;
}

py::list take_all(const py::sequence& values, const std::vector<bool>& which) {
  TORCH_INTERNAL_ASSERT(values.size() == which.size());
  py::list taken(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    py::object value = values[i];
    const at::Tensor* tensor = which[i] ? tensor_in(value) : nullptr;
    taken[i] = tensor != nullptr && tensor->device().type() == twins_type
                   ? py::cast(ops::from_twin(*tensor, twins_type))
                   : std::move(value);
  }
  return taken;
}

}  // namespace

void define_interop(function_scope& module, function_scope& native) {
  native.def("lend_all", &lend_all);
  native.def("take_all", &take_all);
  module.def(
      "as_cuda",
      [](const at::Tensor& tensor) {
        start_from_python();
        return ops::as_twin(tensor, twins_type);
      },
      py::arg("tensor"),
      py::doc(
          "The same memory as a tensor of torch.cuda's: what is written to one in place is seen "
          "in both. For devices on which torch.cuda's kernels run. Tensors that require a "
          "gradient are refused outside of a torch.autograd.Function. The storage of the result "
          "cannot be resized."));
  module.def(
      "from_cuda",
      [](const at::Tensor& tensor) {
        start_from_python();
        return ops::from_twin(tensor, twins_type);
      },
      py::arg("tensor"),
      py::doc(
          "The same memory as a tensor of this backend's, as as_cuda does it the other way. The "
          "storage of `tensor` cannot be resized from then on."));
}

}  // namespace outback::python
