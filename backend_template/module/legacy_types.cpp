#include "backend_template/module/legacy_types.h"

#include <torch/csrc/autograd/python_variable.h>

#include <string>

#include "backend_template/module/python_class.h"
#include "backend_template/python/dtype.h"
#include "outback/backend.h"

namespace py = pybind11;

namespace outback::python {
namespace {

using namespace py::literals;

struct legacy_type {
  const char* prefix;
  const char* dtype;
  bool has_tensor;
};

constexpr legacy_type legacy_types[] = {
    {"BFloat16", "bfloat16", true},
    {"Bool", "bool", true},
    {"Byte", "uint8", true},
    {"Char", "int8", true},
    {"ComplexDouble", "cdouble", false},
    {"ComplexFloat", "cfloat", false},
    {"Double", "double", true},
    {"Float", "float", true},
    {"Half", "half", true},
    {"Int", "int", true},
    {"Long", "long", true},
    {"Short", "short", true},
};

// ---- Storages. torch takes the device of such a class from the name of its module.

// torch.cuda's storages refuse these class methods in the same words.
py::object refused_class_method(const std::string& name) {
  const auto refuse = [name](const py::args&, const py::kwargs&) {
    throw std::runtime_error(name + ": Not available for " + backend_name() + " storage");
  };
  return py::module_::import("builtins").attr("classmethod")(py::cpp_function(refuse));
}

void define_storage(py::module_& module, const py::module_& torch, const legacy_type& listed,
                    const std::string& qualified_module) {
  py::dict members;
  members["dtype"] = torch.attr(listed.dtype);
  members["_dtype"] = torch.attr(listed.dtype);
  for (const char* method : {"from_buffer", "_new_with_weak_ptr", "_new_shared_filename"}) {
    members[method] = refused_class_method(method);
  }
  const std::string name = std::string(listed.prefix) + "Storage";
  const py::object base = torch.attr("storage").attr("_LegacyStorage");
  const py::object type =
      new_class(name.c_str(), py::make_tuple(base), qualified_module,
                "A typed storage on the device. Deprecated, as all of them: see "
                "torch.UntypedStorage.",
                members);
  torch.attr("_storage_classes").attr("add")(type);
  module.attr(name.c_str()) = type;
}

// ---- Tensors

// isinstance(tensor, torch.<name>.FloatTensor): a tensor is no instance of the class, so the
// metaclass compares device, layout and dtype.
bool is_instance(const py::object& type, const py::object& object) {
  if (!THPVariable_Check(object.ptr())) return false;
  const at::Tensor& tensor = THPVariable_Unpack(object.ptr());
  return is_backend(tensor) && tensor.layout() == at::kStrided &&
         tensor.scalar_type() == as_scalar_type(type.attr("dtype"));
}

// torch.<name>.FloatTensor(2, 3): the legacy constructor, which Tensor.new has too.
py::object new_tensor(const py::object& type, const py::args& arguments,
                      const py::kwargs& keywords) {
  const py::module_ torch = py::module_::import("torch");
  const py::object empty =
      torch.attr("empty")(0, "dtype"_a = type.attr("dtype"), "device"_a = backend_name());
  return empty.attr("new")(*arguments, **keywords);
}

// The class from which all of them derive.
py::object make_tensor_base(const py::module_& torch, const std::string& qualified_module) {
  const py::module_ builtins = py::module_::import("builtins");
  const py::object meta =
      new_class("_TensorTypeMeta", py::make_tuple(builtins.attr("type")), qualified_module, "");
  add_method(meta, "__instancecheck__", &is_instance);
  py::dict members;
  members["__module__"] = qualified_module;
  members["__new__"] = builtins.attr("staticmethod")(py::cpp_function(&new_tensor));
  members["layout"] = torch.attr("strided");
  members["is_cuda"] = false;
  members["is_sparse"] = false;
  return meta("_TensorType", py::tuple(), members);
}

void define_tensor(py::module_& module, const py::module_& torch, const legacy_type& listed,
                   const py::object& base, const std::string& qualified_module) {
  py::dict members;
  members["dtype"] = torch.attr(listed.dtype);
  const std::string name = std::string(listed.prefix) + "Tensor";
  const py::object type = new_class(name.c_str(), py::make_tuple(base), qualified_module,
                                    "The type of tensors on the device with this dtype: for "
                                    "isinstance() and tensor.type(). See torch.tensor.",
                                    members);
  // Tensor.type(torch.<name>.FloatTensor) reads tp_name and expects a qualified name, as torch's
  // own types have it; Python would put the plain name there.
  const auto* const c_name = new std::string(qualified_module + "." + name);  // leaked
  reinterpret_cast<PyTypeObject*>(type.ptr())->tp_name = c_name->c_str();
  module.attr(name.c_str()) = type;
}

}  // namespace

void define_legacy_types(py::module_& module) {
  const py::module_ torch = py::module_::import("torch");
  const std::string qualified_module = "torch." + backend_name();
  const py::object tensor_base = make_tensor_base(torch, qualified_module);
  for (const legacy_type& listed : legacy_types) {
    define_storage(module, torch, listed, qualified_module);
    if (listed.has_tensor) define_tensor(module, torch, listed, tensor_base, qualified_module);
  }
}

}  // namespace outback::python
