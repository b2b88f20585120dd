// Tensor.__dlpack_device__ for this device. torch's own (torch/_tensor.py, 2.11 to 2.15) compares
// the device's type with the literal "privateuse1", which no device has once a backend is
// registered: so torch.from_dlpack(tensor) would refuse every tensor of the device. The capsules
// need nothing here: torch makes and reads them with kDLExtDev and the device's index.
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>

#include <string>

#include "backend_template/core/devices/lazy_start.h"
#include "backend_template/core/memory/copy.h"
#include "generators/methods/descriptors.h"
#include "generators/methods/methods.h"
#include "outback/backend.h"

namespace py = pybind11;

namespace outback::python {
namespace {

// Set once by add_dlpack_methods, and leaked.
struct dlpack_parts {
  PyObject* torchs_method;  // torch.Tensor.__dlpack_device__
  PyObject* has_torch_function;
  PyObject* types;  // torch.utils.dlpack.DLDeviceType
};
const dlpack_parts* dlpack = nullptr;

py::tuple dlpack_device(const char* type, int index) {
  return py::make_tuple(py::handle(dlpack->types).attr(type), index);
}

// True for a CPU tensor in memory that this backend's runtime pinned. torch would report all pinned
// memory as CUDA's, and then a consumer synchronizes with CUDA.
bool is_pinned_here(const at::Tensor& tensor) {
  return tensor.is_cpu() && tensor.has_storage() && core::is_started() &&
         core::is_pinned(tensor.storage().data());
}

PyObject* get_dlpack_device(PyObject* self, PyObject* const* /*values*/, Py_ssize_t positional,
                            PyObject* keywords) {
  HANDLE_TH_ERRORS
  TORCH_CHECK_TYPE(positional == 0 && keywords == nullptr,
                   "__dlpack_device__() takes no arguments");
  const auto overridden =
      py::reinterpret_steal<py::object>(PyObject_CallOneArg(dlpack->has_torch_function, self));
  if (!overridden) throw python_error();
  if (overridden.ptr() != Py_True) {
    const at::Tensor& tensor = THPVariable_Unpack(self);
    if (is_backend(tensor)) return dlpack_device("kDLExtDev", tensor.get_device()).release().ptr();
    if (is_pinned_here(tensor)) return dlpack_device("kDLCPU", 0).release().ptr();
  }
  return PyObject_CallOneArg(dlpack->torchs_method, self);
  END_HANDLE_TH_ERRORS
}

}  // namespace

void add_dlpack_methods() {
  const py::handle tensor = THPVariableClass;
  const py::object original = tensor.attr("__dlpack_device__");
  dlpack = new dlpack_parts{
      .torchs_method = py::object(original).release().ptr(),
      .has_torch_function =
          py::object(py::module_::import("torch._C").attr("_has_torch_function_unary"))
              .release()
              .ptr(),
      .types = py::object(py::module_::import("torch.utils.dlpack").attr("DLDeviceType"))
                   .release()
                   .ptr()};
  add_method(THPVariableClass, "__dlpack_device__", &get_dlpack_device, "($self)",
             "The tensor's device as DLPack's (device type, index).");
}

}  // namespace outback::python
