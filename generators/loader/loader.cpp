// Python opens the library of the backend's runtime, and passes its functions' addresses and the
// backend's options.
#include "generators/loader/loader.h"

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
#include "backend_template/python/module_definition.h"
#include "backend_template/python/names.h"
#include "outback/python.h"
#include "registration/checks.h"

namespace py = pybind11;

namespace outback::loader {
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
    python::set_error_text(PyExc_RuntimeError, error.what_without_backtrace());
  } catch (const std::exception& error) {
    python::set_error_text(PyExc_RuntimeError, error.what());
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
  std::size_t count = 0;
  const packed_module* const first =
      at_address<const packed_module*(std::size_t*)>(function)(&count);
  core::set_packed_modules(std::span(first, count));
}

[[noreturn]] void refuse(const char* option, const char* expected, const py::object& given) {
  throw py::type_error(std::string(option) + ": expected " + expected + ", but found " +
                       py::repr(given).cast<std::string>());
}

// An option of the backend. As a parameter of its own type, its error would be pybind11's, which
// lists all parameters and all arguments.
template <class Option>
Option read(const char* option, const char* expected, const py::object& given) {
  try {
    return py::cast<Option>(given);
  } catch (const py::cast_error&) {
    refuse(option, expected, given);
  }
}

bool read_flag(const char* option, const py::object& given) {
  return read<bool>(option, "True or False", given);
}

std::vector<c10::ScalarType> read_dtypes(const char* option, const py::object& given) {
  constexpr const char* expected = "a sequence of torch.dtype";
  std::vector<c10::ScalarType> dtypes;
  try {
    for (const auto& each : read<std::vector<py::object>>(option, expected, given)) {
      dtypes.push_back(python::as_scalar_type(each));
    }
  } catch (const c10::TypeError&) {
    refuse(option, expected, given);
  }
  return dtypes;
}

fallback_mode read_fallback(const py::object& given) {
  constexpr const char* expected = "\"allow\", \"warn\" or \"error\"";
  const auto mode = read<std::string>("fallback", expected, given);
  if (mode == "allow") return fallback_mode::allow;
  if (mode == "warn") return fallback_mode::warn;
  if (mode == "error") return fallback_mode::error;
  refuse("fallback", expected, given);
}

// All that can be refused before anything of the package is loaded for good.
void check(const backend_options& options) {
  registration::check_registrable(options);
  if (!is_registered()) python::check_names_free(options);
}

int execute(PyObject* self) {
  try {
    auto module = py::reinterpret_borrow<py::module_>(self);
    module.def("_table", &table_of);
    // Removed from the module by its first successful call: what remains is the contents of
    // torch.<name>.
    module.def(
        "_register",
        [module](const py::object& name, uintptr_t table, uintptr_t packed_kernels,
                 const py::object& load_kernels, const py::object& amp_dtypes,
                 const py::object& unsupported_dtypes, const py::object& fallback,
                 const py::object& excluded_operators, const py::object& tensor_methods,
                 const py::object& module_methods, const py::object& packed_sequence_methods,
                 const py::object& storage_methods) mutable {
          const backend_options options = {
              .name = read<std::string>("name", "text", name),
              .runtime = at_address<const outback_runtime>(table),
              .amp_dtypes = read_dtypes("amp_dtypes", amp_dtypes),
              .unsupported_dtypes = read_dtypes("unsupported_dtypes", unsupported_dtypes),
              .fallback = read_fallback(fallback),
              .excluded_operators = read<std::vector<std::string>>(
                  "excluded_operators", "a sequence of texts such as \"aten::add.Tensor\"",
                  excluded_operators),
              .tensor_methods = read_flag("tensor_methods", tensor_methods),
              .module_methods = read_flag("module_methods", module_methods),
              .packed_sequence_methods =
                  read_flag("packed_sequence_methods", packed_sequence_methods),
              .storage_methods = read_flag("storage_methods", storage_methods)};
          with_readable_errors([&] { check(options); });
          // The registration gives way to these. They stay in the process: if it were refused, they
          // would compute on another backend's tensors.
          if (!load_kernels.is_none()) load_kernels();
          set_packed(packed_kernels);
          with_readable_errors([&] { register_backend(module, options); });
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
    python::set_python_error();
    return -1;
  }
}

}  // namespace

PyObject* module_definition() noexcept {
  return python::module_definition("_C", &execute);
}

}  // namespace outback::loader
