// Module.<name>().
#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>
#include <pybind11/stl.h>
#include <torch/csrc/autograd/python_variable.h>

#include <memory>
#include <string>
#include <unordered_set>
#include <utility>

#include "backend_template/core/dtypes.h"
#include "generators/methods/arguments.h"
#include "generators/methods/descriptors.h"
#include "generators/methods/methods.h"
#include "outback/backend.h"
#include "registration/in_place.h"
#include "registration/python/device_argument.h"
#include "registration/python/dtype.h"
#include "registration/python/errors.h"

namespace py = pybind11;

namespace outback::python {
namespace {

PyObject* method_name = nullptr;  // leaked, interned

// Parameters and buffers whose shape a lazy module does not know yet: no elements, and
// __torch_function__ refuses most of what one may ask of them.
bool is_uninitialized(PyObject* tensor) {
  static const auto* const mixin =
      new py::object(py::module_::import("torch.nn.parameter").attr("UninitializedTensorMixin"));
  return py::isinstance(tensor, *mixin);
}

bool is_plain_class(PyObject* tensor) {
  const auto* type = reinterpret_cast<PyObject*>(Py_TYPE(tensor));
  return type == THPVariableClass || type == ParameterClass;
}

// torch.__future__'s other ways to move a module make other objects, and here too.
bool keeps_parameters() {
  const py::module_ future = py::module_::import("torch.__future__");
  return !future.attr("get_overwrite_module_params_on_conversion")().cast<bool>() &&
         !future.attr("get_swap_module_params_on_conversion")().cast<bool>();
}

// One call of Module.<name>().
class module_move {
 public:
  module_move(c10::DeviceIndex index, py::handle module)
      : device_(make_device(index)), index_(index) {
    if (!keeps_parameters()) return;
    for (const py::handle parameter : module.attr("parameters")()) {
      if (is_plain_class(parameter.ptr()) || is_uninitialized(parameter.ptr())) keep(parameter);
    }
    for (const py::handle buffer : module.attr("buffers")()) {
      if (is_uninitialized(buffer.ptr())) keep(buffer);
    }
  }

  // For a parameter or buffer of the module, or a gradient: what Module._apply is to go on with.
  py::object operator()(PyObject* tensor) const {
    if (is_uninitialized(tensor)) return move_uninitialized(tensor);
    auto moved = py::reinterpret_steal<py::object>(
        PyObject_CallMethodObjArgs(tensor, method_name, device_.ptr(), nullptr));
    if (!moved) throw py::error_already_set();
    if (moved.ptr() == tensor || !stays_.count(tensor) || !can_become(tensor, moved.ptr())) {
      return moved;
    }
    registration::become(THPVariable_Unpack(tensor), THPVariable_Unpack(moved.ptr()));
    return py::reinterpret_borrow<py::object>(tensor);
  }

 private:
  void keep(py::handle tensor) {
    stays_.insert(tensor.ptr());
    kept_alive_.append(tensor);
  }

  // Left alone where Module._apply will refuse it.
  py::object move_uninitialized(PyObject* tensor) const {
    if (!stays_.count(tensor)) return py::reinterpret_borrow<py::object>(tensor);
    const at::Tensor& empty = THPVariable_Unpack(tensor);
    registration::become(empty, to_backend(empty.detach(), index_));
    return py::reinterpret_borrow<py::object>(tensor);
  }

  // Not under a mode that makes tensors of another kind, such as FakeTensorMode.
  static bool can_become(PyObject* tensor, PyObject* moved) {
    const auto is_dense = [](const at::Tensor& t) { return t.layout() == c10::kStrided; };
    return is_plain_class(moved) && is_dense(THPVariable_Unpack(tensor)) &&
           is_dense(THPVariable_Unpack(moved));
  }

  py::object device_;
  c10::DeviceIndex index_;
  std::unordered_set<PyObject*> stays_;
  py::list kept_alive_;
};

// What Module._apply calls; a module's own _apply may keep it for longer.
py::object function_of(std::unique_ptr<module_move> move) {
  return py::cpp_function(
      [move = std::shared_ptr<module_move>(std::move(move))](const py::object& tensor) {
        TORCH_CHECK_TYPE(THPVariable_Check(tensor.ptr()), "expected a tensor, got ",
                         Py_TYPE(tensor.ptr())->tp_name);
        return (*move)(tensor.ptr());
      });
}

// Before anything moves: a module half of which is elsewhere is of no use.
void check_dtypes(py::handle module) {
  if (core::supports_all()) return;
  for (const char* const list : {"named_parameters", "named_buffers"}) {
    for (const py::handle item : module.attr(list)()) {
      const auto [name, tensor] = item.cast<std::pair<std::string, py::object>>();
      const py::object dtype = tensor.attr("dtype");
      TORCH_CHECK_TYPE(core::supports(as_scalar_type(dtype)), "cannot move the module: \"", name,
                       "\" is ", std::string(py::str(dtype)), ", a dtype that ", backend_name(),
                       " does not support");
    }
  }
}

PyObject* module_to_backend(PyObject* self, PyObject* const* values, Py_ssize_t positional,
                            PyObject* keywords) {
  return guarded([&] {
    // Read once: every tensor goes to the same device, and a module without any is checked too.
    const c10::DeviceIndex index =
        device_argument(parse_device(backend_name(), values, positional, keywords));
    check_dtypes(self);
    const py::object function = function_of(std::make_unique<module_move>(index, self));
    return py::handle(self).attr("_apply")(function).release().ptr();
  });
}

}  // namespace

void add_module_methods(const std::string& name) {
  method_name = PyUnicode_InternFromString(name.c_str());
  const py::object module = py::module_::import("torch.nn").attr("Module");
  add_method(module.ptr(), name, &module_to_backend, "($self, device=None)",
             "Moves all parameters and buffers to the given device of type " + name +
                 ", and returns the module.\n\n"
                 "The parameters stay the objects they are: an optimizer that was made from them "
                 "keeps them, and what\nis tied stays tied.\n\n"
                 "Args:\n"
                 "    device (int, str or torch.device, optional): the destination; the current " +
                 name + " device if None\n");
}

}  // namespace outback::python
