// The extension module of every backend's package, and of torch_outback.load(): the torch half, of
// one torch and one Python. Nothing of a backend is compiled into it; Python opens the library of
// the backend's runtime, and passes its functions' addresses and the backend's options.
#include <outback/python.h>
#include <pybind11/stl.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <vector>

#include "backend_template/core/kernels/packed_list.h"
#include "backend_template/python/dtype.h"
#include "backend_template/python/errors.h"
#include "backend_template/python/names.h"
#include "registration/checks.h"

namespace py = pybind11;

namespace {

template <class Function>
Function* at_address(uintptr_t address) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): ctypes gives addresses
  return reinterpret_cast<Function*>(address);
}

// Runs `body`; what it throws becomes a RuntimeError with that text, in whatever encoding it is.
template <class Body>
auto with_readable_errors(Body&& body) {
  try {
    return body();
  } catch (const py::error_already_set&) {
    throw;
  } catch (const py::builtin_exception&) {
    throw;
  } catch (const c10::Error& error) {  // what() would add torch's backtrace
    outback::python::set_error_text(PyExc_RuntimeError, error.what_without_backtrace());
  } catch (const std::exception& error) {
    outback::python::set_error_text(PyExc_RuntimeError, error.what());
  }
  throw py::error_already_set();
}

// A runtime's function <name>_runtime. Called here for the sake of what it throws, which ctypes
// would not survive.
uintptr_t table_of(uintptr_t function) {
  return with_readable_errors([&] {
    const auto* const table = at_address<const outback_runtime*()>(function)();
    return reinterpret_cast<uintptr_t>(table);
  });
}

// The runtime library's function <name>_packed_kernels; 0 where it has none.
void set_packed(uintptr_t function) {
  if (function == 0) return;
  using outback::packed_module;
  std::size_t count = 0;
  const packed_module* const first =
      at_address<const packed_module*(std::size_t*)>(function)(&count);
  outback::core::set_packed_modules(std::span(first, count));
}

std::vector<c10::ScalarType> dtypes_of(const std::vector<py::object>& given) {
  std::vector<c10::ScalarType> dtypes;
  for (const py::object& each : given) dtypes.push_back(outback::python::as_scalar_type(each));
  return dtypes;
}

outback::fallback_mode fallback_of(const std::string& given) {
  if (given == "allow") return outback::fallback_mode::allow;
  if (given == "warn") return outback::fallback_mode::warn;
  if (given == "error") return outback::fallback_mode::error;
  throw py::value_error("fallback: expected \"allow\", \"warn\" or \"error\", but found \"" +
                        given + "\"");
}

// All that can be refused before anything of the package is loaded for good.
void check(const outback::backend_options& options) {
  outback::registration::check_registrable(options);
  if (!outback::is_registered()) outback::python::check_names_free(options);
}

int execute(PyObject* self) {
  try {
    auto module = py::reinterpret_borrow<py::module_>(self);
    module.def("_table", &table_of);
    // Removed from the module by its first successful call: what remains is the contents of
    // torch.<name>.
    module.def(
        "_register",
        [module](const std::string& name, uintptr_t table, uintptr_t packed_kernels,
                 const py::object& load_kernels, const std::vector<py::object>& amp_dtypes,
                 const std::vector<py::object>& unsupported_dtypes, const std::string& fallback,
                 const std::vector<std::string>& excluded_operators, bool tensor_methods,
                 bool module_methods, bool packed_sequence_methods, bool storage_methods) mutable {
          const outback::backend_options options = {
              .name = name,
              .runtime = at_address<const outback_runtime>(table),
              .amp_dtypes = dtypes_of(amp_dtypes),
              .unsupported_dtypes = dtypes_of(unsupported_dtypes),
              .fallback = fallback_of(fallback),
              .excluded_operators = excluded_operators,
              .tensor_methods = tensor_methods,
              .module_methods = module_methods,
              .packed_sequence_methods = packed_sequence_methods,
              .storage_methods = storage_methods};
          with_readable_errors([&] { check(options); });
          // The registration gives way to these. They stay in the process: if it were refused, they
          // would compute on another backend's tensors.
          if (!load_kernels.is_none()) load_kernels();
          set_packed(packed_kernels);
          with_readable_errors([&] { outback::register_backend(module, options); });
          py::delattr(module, "_table");
          py::delattr(module, "_register");
        },
        py::arg("name"), py::arg("table"), py::kw_only(), py::arg("packed_kernels") = 0,
        py::arg("load_kernels") = py::none(), py::arg("amp_dtypes") = py::tuple(),
        py::arg("unsupported_dtypes") = py::tuple(), py::arg("fallback") = "allow",
        py::arg("excluded_operators") = py::tuple(), py::arg("tensor_methods") = true,
        py::arg("module_methods") = true, py::arg("packed_sequence_methods") = true,
        py::arg("storage_methods") = true);
    return 0;
  } catch (...) {
    outback::python::set_python_error();
    return -1;
  }
}

}  // namespace

// In two phases, so that Python executes the module again if it was taken out of sys.modules.
extern "C" __attribute__((visibility("default"))) PyObject* PyInit__C() {
  PYBIND11_CHECK_PYTHON_VERSION
  static PyModuleDef_Slot slots[] = {
      {Py_mod_exec, reinterpret_cast<void*>(&execute)},
#ifdef Py_mod_multiple_interpreters  // from Python 3.12 on
      {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
      {0, nullptr}};
  static PyModuleDef definition = {
      PyModuleDef_HEAD_INIT, "_C", nullptr, 0, nullptr, slots, nullptr, nullptr, nullptr};
  return PyModuleDef_Init(&definition);
}
