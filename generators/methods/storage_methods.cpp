// UntypedStorage.<name>() and .is_<name>, and the same of TypedStorage, which is deprecated and
// warns.
#include <c10/util/Exception.h>
#include <torch/csrc/Storage.h>
#include <torch/csrc/utils/device_lazy_init.h>

#include <string>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/devices/dtypes.h"
#include "backend_template/python/arguments.h"
#include "backend_template/python/device_argument.h"
#include "backend_template/python/dtype.h"
#include "backend_template/python/errors.h"
#include "backend_template/python/imported.h"
#include "generators/methods/descriptors.h"
#include "generators/methods/docstrings.h"
#include "generators/methods/methods.h"
#include "outback/backend.h"

namespace py = pybind11;

namespace outback::python {
namespace {

// Checks, since the methods are added to _StorageBase: classes that hold no storage may derive from
// it.
const c10::Storage& storage_of(PyObject* self) {
  TORCH_CHECK_TYPE(THPStorage_Check(self), "expected a torch.UntypedStorage, got ",
                   Py_TYPE(self)->tp_name);
  THPStorage_assertNotNull(self);
  return THPStorage_Unpack(self);
}

py::object untyped_of(PyObject* typed) {
  return py::handle(typed).attr("_untyped_storage");
}

PyObject* get_storage_is_backend(PyObject* self, void* /*closure*/) {
  return guarded([self] { return PyBool_FromLong(is_backend(storage_of(self))); });
}

PyObject* move_storage(PyObject* self, const move_arguments& arguments) {
  const c10::DeviceIndex index = device_argument(arguments.device);
  const c10::Storage& storage = storage_of(self);
  if (is_backend(storage) && storage.device().index() == index) return Py_NewRef(self);
  TORCH_CHECK(!py::cast<bool>(py::handle(self).attr("is_sparse")),
              "Can not support a sparse storage move to ", backend_name(), " backend");
  torch::utils::device_lazy_init(core::device_type);
  c10::Storage moved;
  {
    const py::gil_scoped_release no_gil;
    moved = to_backend(storage, index, arguments.non_blocking);
  }
  return THPStorage_Wrap(std::move(moved));
}

PyObject* storage_to_backend(PyObject* self, PyObject* const* values, Py_ssize_t positional,
                             PyObject* keywords) {
  return guarded([&] {
    const move_arguments arguments = parse_move(backend_name(), values, positional, keywords);
    refuse_others(backend_name(), arguments);
    return move_storage(self, arguments);
  });
}

// ---- TypedStorage

// stacklevel 1 and not torch's default: a C function has no Python frame, so the caller is one
// level nearer.
void warn_of_removal() {
  import_module("torch.storage").attr("_warn_typed_storage_removal")(py::arg("stacklevel") = 1);
}

PyObject* get_typed_is_backend(PyObject* self, void* /*closure*/) {
  return guarded([self] {
    warn_of_removal();
    return PyBool_FromLong(is_backend(storage_of(untyped_of(self).ptr())));
  });
}

PyObject* typed_to_backend(PyObject* self, PyObject* const* values, Py_ssize_t positional,
                           PyObject* keywords) {
  return guarded([&] {
    const move_arguments arguments = parse_move(backend_name(), values, positional, keywords);
    refuse_others(backend_name(), arguments);
    warn_of_removal();
    const py::object dtype = py::handle(self).attr("dtype");
    TORCH_CHECK(core::supports(as_scalar_type(dtype)), "Cannot create ", backend_name(),
                " storage as ", std::string(py::str(dtype)),
                " dtype is not supported by this backend");
    const auto moved =
        py::reinterpret_steal<py::object>(move_storage(untyped_of(self).ptr(), arguments));
    return py::handle(self).attr("_new_wrapped_storage")(moved).release().ptr();
  });
}

}  // namespace

void add_storage_methods(const std::string& name) {
  const std::string is_doc = property_doc(name, "storage");
  const std::string signature = "($self, device=None, non_blocking=False)";
  const std::string to_doc = move_doc(name, "storage");
  const py::module_ storage = import_module("torch.storage");
  const py::object base = storage.attr("_StorageBase");
  add_property(base.ptr(), "is_" + name, &get_storage_is_backend, is_doc);
  add_method(base.ptr(), name, &storage_to_backend, signature, to_doc);
  const py::object typed = storage.attr("TypedStorage");
  add_property(typed.ptr(), "is_" + name, &get_typed_is_backend, is_doc);
  add_method(typed.ptr(), name, &typed_to_backend, signature, to_doc);
}

}  // namespace outback::python
