// as_cuda and from_cuda: tensors that share memory with torch.cuda's.
#include "backend_template/ops/own/interop.h"

#include <torch/csrc/utils/pybind.h>

#include "backend_template/module/device_module.h"

namespace py = pybind11;

namespace outback::python {

void define_interop(py::module_& module) {
  module.def(
      "as_cuda",
      [](const at::Tensor& tensor) {
        start_from_python();
        return ops::as_twin(tensor, c10::DeviceType::CUDA);
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
        return ops::from_twin(tensor, c10::DeviceType::CUDA);
      },
      py::arg("tensor"),
      py::doc(
          "The same memory as a tensor of this backend's, as as_cuda does it the other way. The "
          "storage of `tensor` cannot be resized from then on."));
}

}  // namespace outback::python
