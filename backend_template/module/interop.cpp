// as_cuda and from_cuda: tensors that share memory with torch.cuda's.
#include "backend_template/ops/own/interop.h"

#include <torch/csrc/autograd/python_variable.h>

#include "backend_template/module/device_module.h"

namespace py = pybind11;

namespace outback::python {
namespace {

template <at::Tensor share(const at::Tensor&, c10::DeviceType)>
py::object with_cuda(py::handle tensor) {
  if (!THPVariable_Check(tensor.ptr())) {
    throw py::type_error("expected a tensor, got " +
                         py::type::of(tensor).attr("__name__").cast<std::string>());
  }
  start_from_python();
  at::Tensor shared = share(THPVariable_Unpack(tensor.ptr()), c10::DeviceType::CUDA);
  return py::reinterpret_steal<py::object>(THPVariable_Wrap(std::move(shared)));
}

}  // namespace

void define_interop(py::module_& module) {
  module.def("as_cuda", &with_cuda<&ops::as_twin>, py::arg("tensor"),
             py::doc("The same memory as a tensor of torch.cuda's: what is written to one in place "
                     "is seen in both. For devices on which torch.cuda's kernels run. Tensors that "
                     "require a gradient are refused outside of a torch.autograd.Function."));
  module.def("from_cuda", &with_cuda<&ops::from_twin>, py::arg("tensor"),
             py::doc("The same memory as a tensor of this backend's, as as_cuda does it the other "
                     "way. The storage of `tensor` cannot be resized from then on."));
}

}  // namespace outback::python
