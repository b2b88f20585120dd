#include "backend_template/python/normalize.h"

#include <c10/macros/Macros.h>

#include "backend_template/python/arguments.h"
#include "backend_template/python/device_argument.h"
#include "backend_template/python/errors.h"
#include "outback/backend.h"

namespace py = pybind11;

namespace outback::python {
namespace {

struct normalize_arguments {
  PyObject* device = Py_None;
  device_rules rules;
};

normalize_arguments parse_normalize(PyObject* const* values, Py_ssize_t positional,
                                    PyObject* keywords) {
  const py::tuple given = positional_tuple(values, positional);
  const py::dict named = keyword_dict(values, positional, keywords);
  static const char* const names[] = {"device", "optional", "allow_cpu", nullptr};
  normalize_arguments parsed;
  int optional = 1;
  int allow_cpu = 0;
  if (PyArg_ParseTupleAndKeywords(given.ptr(), named.ptr(), "|Opp:_normalize_device",
                                  const_cast<char**>(names), &parsed.device, &optional,
                                  &allow_cpu) == 0) {
    throw py::error_already_set();
  }
  parsed.rules = {.optional = optional != 0, .allow_cpu = allow_cpu != 0};
  return parsed;  // `device` is borrowed from `values`, so it outlives `given` and `named`
}

PyObject* normalize(PyObject* /*module*/, PyObject* const* values, Py_ssize_t positional,
                    PyObject* keywords) {
  return guarded([&] {
    // The usual call needs no tuple and no dict.
    if (C10_LIKELY(positional == 1 && keywords == nullptr)) {
      return PyLong_FromLong(device_argument(values[0]));
    }
    const normalize_arguments given = parse_normalize(values, positional, keywords);
    return PyLong_FromLong(device_argument(given.device, given.rules));
  });
}

// A C function and not one of pybind11, whose dispatch would cost more than the work.
PyMethodDef normalize_definition = {
    "_normalize_device", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(&normalize)),
    METH_FASTCALL | METH_KEYWORDS,
    "_normalize_device(device=None, optional=True, allow_cpu=False)\n--\n\n"
    "The index of the device that ``device`` names: an int, \"<name>\", \"<name>:<index>\", a\n"
    "torch.device, or None. Without an index it is the current device's, or an error unless\n"
    "``optional``. With ``allow_cpu`` the CPU is -1. Anything else is a TypeError or ValueError, "
    "an\n"
    "index that does not exist a torch.AcceleratorError, and they say what was expected."};

}  // namespace

void define_normalization(py::module_& module) {
  module.attr("_normalize_device") = py::reinterpret_steal<py::object>(
      PyCFunction_NewEx(&normalize_definition, nullptr, module.attr("__name__").ptr()));
  module.def_submodule("_utils").def(
      "_get_device_index",
      [](py::handle device, bool optional, bool allow_cpu) {
        return unchecked_device_argument(device, {.optional = optional, .allow_cpu = allow_cpu});
      },
      py::arg("device"), py::arg("optional") = false, py::arg("allow_cpu") = false);
}

}  // namespace outback::python
