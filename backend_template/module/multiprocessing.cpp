// How torch.multiprocessing sends the device's tensors to another process: as copies in shared
// memory of the host, which the receiver copies to its device of the same index. torch 2.11 to 2.15
// have no hook for that and would take such a tensor for one of the CPU.
//
// The arguments of a process that is being spawned go as bytes instead. A spawned process inherits
// the descriptors of shared memory, which must stay open until then, but the copy that owns them
// would be gone.
#include <c10/util/Exception.h>
#include <torch/csrc/autograd/python_variable.h>

#include <string>

#include "backend_template/module/device_module.h"
#include "backend_template/python/errors.h"
#include "outback/backend.h"

namespace py = pybind11;

namespace outback::python {
namespace {

// Set once by register_reducers, and leaked.
struct reducer_parts {
  PyObject* rebuild_tensor;
  PyObject* rebuild_storage;
  PyObject* torchs_tensor_reducer;
  PyObject* torchs_storage_reducer;
  PyObject* get_spawning_popen;
};
const reducer_parts* reducers = nullptr;

// Returns what pickle is to send for the CPU tensor `copy`: itself, whose memory torch shares, or
// its bytes while a process is being spawned.
py::object packed(const py::object& copy) {
  if (py::handle(reducers->get_spawning_popen)().is_none()) return copy;
  const py::object file = py::module_::import("io").attr("BytesIO")();
  py::module_::import("torch").attr("save")(copy, file);
  return file.attr("getvalue")();
}

// The CPU tensor that `packed` was given.
py::object unpacked(py::handle sent) {
  if (!py::isinstance<py::bytes>(sent)) return py::reinterpret_borrow<py::object>(sent);
  return py::module_::import("torch").attr("load")(py::module_::import("io").attr("BytesIO")(sent));
}

bool is_on_this_device(py::handle object) {
  return object.attr("device").attr("type").cast<std::string>() == backend_name();
}

// What pickle calls for every torch.Tensor: those of other devices go to torch's own function. It
// refuses and warns of the same tensors as torch.multiprocessing.reductions.reduce_tensor.
py::object reduce_tensor(const py::object& tensor) {
  if (!is_on_this_device(tensor)) return py::handle(reducers->torchs_tensor_reducer)(tensor);
  const bool requires_grad = tensor.attr("requires_grad").cast<bool>();
  TORCH_CHECK(!requires_grad || tensor.attr("is_leaf").cast<bool>(),
              "cannot send a tensor that requires grad and is no leaf to another process, since "
              "autograd does not reach across processes; send tensor.detach()");
  py::module_::import("torch.utils.hooks").attr("warn_if_has_hooks")(tensor);
  const py::object copy = tensor.attr("detach")().attr("cpu")();
  return py::make_tuple(py::handle(reducers->rebuild_tensor),
                        py::make_tuple(py::type::of(tensor), packed(copy),
                                       py::str(tensor.attr("device")), requires_grad));
}

// The same for every torch.UntypedStorage; it travels as a tensor of bytes.
py::object reduce_storage(const py::object& storage) {
  if (!is_on_this_device(storage)) return py::handle(reducers->torchs_storage_reducer)(storage);
  using namespace py::literals;
  const py::module_ torch = py::module_::import("torch");
  const py::object copy =
      torch.attr("empty")(0, "dtype"_a = torch.attr("uint8")).attr("set_")(storage.attr("cpu")());
  return py::make_tuple(py::handle(reducers->rebuild_storage),
                        py::make_tuple(packed(copy), py::str(storage.attr("device"))));
}

// ---- In the receiving process. These are plain functions of the extension module: pickle finds
// them by the module's name, and importing that module registers the backend there.

PyObject* rebuild_tensor(PyObject* /*module*/, PyObject* arguments) {
  return guarded([&]() -> PyObject* {
    PyObject *type = nullptr, *sent = nullptr, *device = nullptr;
    int requires_grad = 0;
    if (PyArg_ParseTuple(arguments, "OOOp", &type, &sent, &device, &requires_grad) == 0) {
      return nullptr;
    }
    using namespace py::literals;
    py::object tensor = unpacked(sent).attr("to")(py::handle(device));
    if (type == ParameterClass) {
      tensor = py::handle(type)(tensor, "requires_grad"_a = requires_grad != 0);
    } else if (requires_grad != 0) {
      tensor.attr("requires_grad_")();
    }
    return tensor.release().ptr();
  });
}

PyObject* rebuild_storage(PyObject* /*module*/, PyObject* arguments) {
  return guarded([&]() -> PyObject* {
    PyObject *sent = nullptr, *device = nullptr;
    if (PyArg_ParseTuple(arguments, "OO", &sent, &device) == 0) return nullptr;
    const py::object tensor = unpacked(sent).attr("to")(py::handle(device));
    return tensor.attr("untyped_storage")().release().ptr();
  });
}

PyMethodDef rebuilders[] = {
    {"_rebuild_sent_tensor", &rebuild_tensor, METH_VARARGS, nullptr},
    {"_rebuild_sent_storage", &rebuild_storage, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void register_reducers(py::module_& module) {
  if (PyModule_AddFunctions(module.ptr(), rebuilders) != 0) throw py::error_already_set();
  const py::module_ torchs = py::module_::import("torch.multiprocessing.reductions");
  reducers = new reducer_parts{
      .rebuild_tensor = py::object(module.attr("_rebuild_sent_tensor")).release().ptr(),
      .rebuild_storage = py::object(module.attr("_rebuild_sent_storage")).release().ptr(),
      .torchs_tensor_reducer = py::object(torchs.attr("reduce_tensor")).release().ptr(),
      .torchs_storage_reducer = py::object(torchs.attr("reduce_storage")).release().ptr(),
      .get_spawning_popen =
          py::object(py::module_::import("multiprocessing.context").attr("get_spawning_popen"))
              .release()
              .ptr()};
  const py::object add =
      py::module_::import("multiprocessing.reduction").attr("ForkingPickler").attr("register");
  const py::module_ torch = py::module_::import("torch");
  const auto tensors = py::cpp_function(&reduce_tensor, py::name("reduce_tensor"));
  add(torch.attr("Tensor"), tensors);
  add(torch.attr("nn").attr("Parameter"), tensors);
  add(torch.attr("UntypedStorage"), py::cpp_function(&reduce_storage, py::name("reduce_storage")));
}

}  // namespace outback::python
