// A backend that is registered when a test says so, under the name that it says, in a process that
// may have another.
#include <ATen/core/Tensor.h>
#include <outback/python.h>
#include <pybind11/stl.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/jit/serialization/pickler_helper.h>

#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "backend_template/python/dtype.h"
#include "backend_template/runtimes/null/null.h"

namespace py = pybind11;

extern "C" const outback_runtime* outback_test_faulty(void);

namespace {

using flags = std::map<std::string, bool>;

// What a vendor keeps of a tensor beside its data.
struct tensor_flags : c10::BackendMeta {
  explicit tensor_flags(flags it) : values(std::move(it)) {}
  flags values;
};

void set_flags(const at::Tensor& tensor, flags values) {
  tensor.unsafeGetTensorImpl()->set_backend_meta(
      c10::make_intrusive<tensor_flags>(std::move(values)));
}

void save(const at::Tensor& tensor, outback::backend_meta_functions::names& saved) {
  const auto* meta =
      static_cast<const tensor_flags*>(tensor.unsafeGetTensorImpl()->get_backend_meta());
  if (meta->values.contains("fail")) throw std::runtime_error("these flags cannot be saved");
  saved.insert(meta->values.begin(), meta->values.end());
}

void load(const at::Tensor& tensor, const outback::backend_meta_functions::names& saved) {
  set_flags(tensor, flags(saved.begin(), saved.end()));
}

outback::backend_meta_functions meta_functions(const std::string& which) {
  outback::backend_meta_functions functions;
  if (which == "save" || which == "both") functions.save = &save;
  if (which == "load" || which == "both") functions.load = &load;
  return functions;
}

const at::Tensor& as_tensor(py::handle object) {
  if (!THPVariable_Check(object.ptr())) throw py::type_error("expected a tensor");
  return THPVariable_Unpack(object.ptr());
}

}  // namespace

PYBIND11_MODULE(outback_probe, module) {
  module.def(
      "register",
      [module](const std::string& name, const std::vector<py::object>& unsupported_dtypes,
               bool tensor_methods, bool module_methods, bool packed_sequence_methods,
               bool storage_methods, const std::vector<std::string>& excluded_operators,
               const std::string& backend_meta, bool faulty) mutable {
        std::vector<c10::ScalarType> unsupported;
        for (const py::object& dtype : unsupported_dtypes) {
          unsupported.push_back(outback::python::as_scalar_type(dtype));
        }
        outback::register_backend(
            module, {.name = name,
                     .runtime = faulty ? outback_test_faulty() : outback_null_runtime(),
                     .unsupported_dtypes = unsupported,
                     .excluded_operators = excluded_operators,
                     .backend_meta = meta_functions(backend_meta),
                     .tensor_methods = tensor_methods,
                     .module_methods = module_methods,
                     .packed_sequence_methods = packed_sequence_methods,
                     .storage_methods = storage_methods});
      },
      py::arg("name"), py::kw_only(), py::arg("unsupported_dtypes") = std::vector<py::object>(),
      py::arg("tensor_methods") = true, py::arg("module_methods") = true,
      py::arg("packed_sequence_methods") = true, py::arg("storage_methods") = true,
      py::arg("excluded_operators") = std::vector<std::string>(), py::arg("backend_meta") = "",
      py::arg("faulty") = false);
  module.def("set_flags", [](py::handle tensor, flags values) {
    set_flags(as_tensor(tensor), std::move(values));
  });
  // None: the tensor has no BackendMeta.
  module.def("flags", [](py::handle tensor) -> py::object {
    const auto* meta = as_tensor(tensor).unsafeGetTensorImpl()->get_backend_meta();
    return meta == nullptr ? py::none() : py::cast(static_cast<const tensor_flags*>(meta)->values);
  });
  // As another library does, before.
  module.def("register_other_meta_functions", [] {
    const auto nothing = [](const at::Tensor&, outback::backend_meta_functions::names&) {};
    torch::jit::TensorBackendMetaRegistry(c10::DeviceType::PrivateUse1, nothing, nothing);
  });
}
