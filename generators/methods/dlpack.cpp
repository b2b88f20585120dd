// Tensor.__dlpack_device__ and __dlpack__ for this device. torch's own (torch/_tensor.py, 2.11 to
// 2.15) compare the device's type with literals: with "privateuse1", which no device has once a
// backend is registered, so torch.from_dlpack(tensor) would refuse every tensor of the device; and
// with "cuda", so a device with CUDA's kernels would not count as CUDA's, and no other library
// could use its memory. The capsules of other devices need nothing here: torch makes and reads them
// with kDLExtDev and the device's index.
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>

#include <optional>
#include <string>
#include <vector>

#include "backend_template/core/devices/lazy_start.h"
#include "backend_template/core/memory/copy.h"
#include "backend_template/core/twin/twin.h"
#include "backend_template/ops/own/interop.h"
#include "backend_template/python/imported.h"
#include "generators/methods/descriptors.h"
#include "generators/methods/methods.h"
#include "outback/backend.h"

namespace py = pybind11;

namespace outback::python {
namespace {

// Set once by add_dlpack_methods, and leaked.
struct dlpack_parts {
  PyObject* torchs_device;  // torch.Tensor.__dlpack_device__
  PyObject* torchs_export;  // torch.Tensor.__dlpack__
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

bool is_overridden(PyObject* self) {
  const auto answer =
      py::reinterpret_steal<py::object>(PyObject_CallOneArg(dlpack->has_torch_function, self));
  if (!answer) throw python_error();
  return answer.ptr() == Py_True;
}

// DLPack's name for a type that a device of ours may have a twin of; null if it has none.
const char* type_of_twin(c10::DeviceType type) {
  if (type == c10::DeviceType::CUDA) return "kDLCUDA";
  return type == c10::DeviceType::XPU ? "kDLOneAPI" : nullptr;
}

// The twin's device that other libraries know the tensor's memory by.
std::optional<c10::Device> exported_as(const at::Tensor& tensor) {
  if (!is_backend(tensor)) return std::nullopt;
  const auto twin = core::twin_of(tensor.device().index());
  return twin && type_of_twin(twin->type()) != nullptr ? twin : std::nullopt;
}

PyObject* get_dlpack_device(PyObject* self, PyObject* const* /*values*/, Py_ssize_t positional,
                            PyObject* keywords) {
  HANDLE_TH_ERRORS
  TORCH_CHECK_TYPE(positional == 0 && keywords == nullptr,
                   "__dlpack_device__() takes no arguments");
  if (!is_overridden(self)) {
    const at::Tensor& tensor = THPVariable_Unpack(self);
    if (const auto twin = exported_as(tensor)) {
      return dlpack_device(type_of_twin(twin->type()), twin->index()).release().ptr();
    }
    if (is_backend(tensor)) return dlpack_device("kDLExtDev", tensor.get_device()).release().ptr();
    if (is_pinned_here(tensor)) return dlpack_device("kDLCPU", 0).release().ptr();
  }
  return PyObject_CallOneArg(dlpack->torchs_device, self);
  END_HANDLE_TH_ERRORS
}

// The consumer asks for the device by its own name: torch.from_dlpack(x, device="acme") does.
bool asks_for_ours(PyObject* const* values, Py_ssize_t positional, PyObject* keywords) {
  const Py_ssize_t count = keywords == nullptr ? 0 : PyTuple_GET_SIZE(keywords);
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(keywords, i), "dl_device") != 0) continue;
    const py::handle device = values[positional + i];
    if (!py::isinstance<py::tuple>(device) || py::len(device) != 2) return false;
    const py::object type = device[py::int_(0)];
    return type.equal(py::handle(dlpack->types).attr("kDLExtDev"));
  }
  return false;
}

// torch's method refuses what a capsule cannot say: a gradient, a conjugate, another layout.
bool may_export(const at::Tensor& tensor) {
  return !tensor.requires_grad() && !tensor.is_conj() && tensor.layout() == c10::kStrided;
}

PyObject* export_to_dlpack(PyObject* self, PyObject* const* values, Py_ssize_t positional,
                           PyObject* keywords) {
  HANDLE_TH_ERRORS
  py::object exported = py::reinterpret_borrow<py::object>(self);
  if (!is_overridden(self)) {
    const at::Tensor& tensor = THPVariable_Unpack(self);
    const auto twin = exported_as(tensor);
    if (twin && may_export(tensor) && !asks_for_ours(values, positional, keywords)) {
      exported =
          py::reinterpret_steal<py::object>(THPVariable_Wrap(ops::as_twin(tensor, twin->type())));
      if (!exported) throw python_error();
    }
  }
  const Py_ssize_t given = positional + (keywords == nullptr ? 0 : PyTuple_GET_SIZE(keywords));
  std::vector<PyObject*> arguments{exported.ptr()};
  arguments.insert(arguments.end(), values, values + given);
  return PyObject_Vectorcall(dlpack->torchs_export, arguments.data(),
                             static_cast<size_t>(positional) + 1, keywords);
  END_HANDLE_TH_ERRORS
}

}  // namespace

void add_dlpack_methods() {
  const py::handle tensor = THPVariableClass;
  dlpack = new dlpack_parts{
      .torchs_device = py::object(tensor.attr("__dlpack_device__")).release().ptr(),
      .torchs_export = py::object(tensor.attr("__dlpack__")).release().ptr(),
      .has_torch_function =
          py::object(import_module("torch._C").attr("_has_torch_function_unary")).release().ptr(),
      .types =
          py::object(import_module("torch.utils.dlpack").attr("DLDeviceType")).release().ptr()};
  add_method(THPVariableClass, "__dlpack_device__", &get_dlpack_device, "($self)",
             "The tensor's device as DLPack's (device type, index).");
  add_method(THPVariableClass, "__dlpack__", &export_to_dlpack,
             "($self, *, stream=-1, max_version=None, dl_device=None, copy=None)",
             "The tensor as a DLPack capsule, which shares its memory.");
}

}  // namespace outback::python
