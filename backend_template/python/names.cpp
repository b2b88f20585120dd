#include "backend_template/python/names.h"

#include <c10/core/DeviceType.h>
#include <c10/util/Exception.h>
#include <pybind11/pybind11.h>

#include <algorithm>
#include <cctype>

#include "backend_template/python/imported.h"

namespace py = pybind11;

namespace outback::python {
namespace {

// Says where an attribute comes from, for a user who has to find out who took the name.
std::string origin(const py::object& attribute) {
  const auto module_of = [](const py::object& object) -> std::string {
    const py::object module = py::getattr(object, "__module__", py::none());
    return py::isinstance<py::str>(module) ? module.cast<std::string>() : std::string();
  };
  const py::object getter = py::getattr(attribute, "fget", py::none());
  const std::string module = module_of(getter.is_none() ? attribute : getter);
  if (module == "torch.utils.backend_registration") {
    return ", made by torch.utils.generate_methods_for_privateuse1_backend(): leave that call out, "
           "the registration adds the methods";
  }
  return module.empty() ? std::string() : ", from " + module;
}

void check_free(const py::object& owner, const char* owner_name, const std::string& name,
                const std::string& attribute) {
  const py::object taken = py::getattr(owner, attribute.c_str(), py::object());
  TORCH_CHECK(!taken, "cannot register ", name, ": ", owner_name, " already has an attribute \"",
              attribute, "\"", taken ? origin(taken) : std::string());
}

// Methods of modules and sequences call the tensor's, so those cannot be left out alone.
void check_tensor_methods(bool wanted, const backend_options& options, const char* owner,
                          const char* option) {
  TORCH_CHECK(!wanted || options.tensor_methods, "cannot register ", options.name, ": ", owner, ".",
              options.name, "() needs Tensor.", options.name,
              "(): leave tensor_methods on, or turn ", option, " off too");
}

void check_methods_free(const py::module_& torch, const backend_options& options) {
  const auto check = [&](const py::object& owner, const char* owner_name,
                         bool has_property = true) {
    check_free(owner, owner_name, options.name, options.name);
    if (has_property) check_free(owner, owner_name, options.name, "is_" + options.name);
  };
  check_tensor_methods(options.module_methods, options, "Module", "module_methods");
  check_tensor_methods(options.packed_sequence_methods, options, "PackedSequence",
                       "packed_sequence_methods");
  const py::object nn = torch.attr("nn");
  if (options.tensor_methods) check(torch.attr("Tensor"), "torch.Tensor");
  if (options.module_methods) check(nn.attr("Module"), "torch.nn.Module", /*has_property=*/false);
  if (options.packed_sequence_methods) {
    check(import_module("torch.nn.utils.rnn").attr("PackedSequence"),
          "torch.nn.utils.rnn.PackedSequence");
  }
  if (options.storage_methods) {
    check(torch.attr("UntypedStorage"), "torch.UntypedStorage");
    check(torch.attr("TypedStorage"), "torch.TypedStorage");
  }
}

// torch adds these aliases itself from 2.13 on.
void add_alias(const char* module, const char* enumeration, const std::string& alias) {
  const py::object type = import_module(module).attr(enumeration);
  if (!py::hasattr(type, alias.c_str())) {
    py::setattr(type, alias.c_str(), type.attr("PrivateUse1"));
  }
}

}  // namespace

void check_names_free(const backend_options& options) {
  const std::string& name = options.name;
  const py::module_ torch = import_module("torch");
  check_free(torch, "torch", name, name);
  check_free(torch.attr("_C"), "torch._C", name, name);
  TORCH_CHECK(!imported(("torch." + name).c_str()), "cannot register ", name,
              ": sys.modules already has a module \"torch.", name, "\"");
  check_methods_free(torch, options);
}

void rename_in_python(const std::string& name) {
  // Skipped if it has the name already: somebody may have called torch's function before.
  const py::module_ names = import_module("torch.utils.backend_registration");
  if (names.attr("_privateuse1_backend_name").cast<std::string>() != name) {
    names.attr("rename_privateuse1_backend")(name);
  }
  std::string alias = name;
  std::transform(alias.begin(), alias.end(), alias.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  add_alias("torch._C._profiler", "ProfilerActivity", alias);
  add_alias("torch._C._autograd", "DeviceType", alias);
}

}  // namespace outback::python
