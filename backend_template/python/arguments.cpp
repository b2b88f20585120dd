#include "backend_template/python/arguments.h"

#include <c10/util/Exception.h>

#include <string_view>

namespace py = pybind11;

namespace outback::python {
namespace {

bool is_keyword(PyObject* name, const char* expected) {
  return PyUnicode_CompareWithASCIIString(name, expected) == 0;
}

// torch's own methods take a bool only, and say it in these words.
bool as_bool(const std::string& method, PyObject* value) {
  TORCH_CHECK_TYPE(PyBool_Check(value), method, "(): argument 'non_blocking' must be bool, not ",
                   Py_TYPE(value)->tp_name);
  return value == Py_True;
}

}  // namespace

move_arguments parse_move(const std::string& method, PyObject* const* values, Py_ssize_t positional,
                          PyObject* keywords) {
  TORCH_CHECK_TYPE(positional <= 2, method, "() takes from 1 to 3 positional arguments but ",
                   positional + 1, " were given");
  const auto expect_new = [&](bool met, std::string_view name) {
    TORCH_CHECK_TYPE(met, method, "() got multiple values for argument '", name, "'");
  };
  move_arguments parsed{.others = py::reinterpret_steal<py::dict>(nullptr)};
  if (positional > 0) parsed.device = values[0];
  if (positional > 1) parsed.non_blocking = as_bool(method, values[1]);
  const Py_ssize_t count = keywords == nullptr ? 0 : PyTuple_GET_SIZE(keywords);
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* const name = PyTuple_GET_ITEM(keywords, i);
    PyObject* const value = values[positional + i];
    if (is_keyword(name, "device")) {
      expect_new(positional < 1, "device");
      parsed.device = value;
    } else if (is_keyword(name, "non_blocking")) {
      expect_new(positional < 2, "non_blocking");
      parsed.non_blocking = as_bool(method, value);
    } else {
      // Python's own message for f(x, self=y).
      expect_new(!is_keyword(name, "self"), "self");
      if (!parsed.others) parsed.others = py::dict();
      parsed.others[name] = py::handle(value);
    }
  }
  return parsed;
}

PyObject* parse_device(const std::string& method, PyObject* const* values, Py_ssize_t positional,
                       PyObject* keywords) {
  TORCH_CHECK_TYPE(positional <= 1, method, "() takes from 1 to 2 positional arguments but ",
                   positional + 1, " were given");
  const Py_ssize_t named = keywords == nullptr ? 0 : PyTuple_GET_SIZE(keywords);
  for (Py_ssize_t i = 0; i < named; ++i) {
    PyObject* const keyword = PyTuple_GET_ITEM(keywords, i);
    TORCH_CHECK_TYPE(is_keyword(keyword, "device"), method,
                     "() got an unexpected keyword argument '",
                     std::string(py::str(py::handle(keyword))), "'");
    TORCH_CHECK_TYPE(positional == 0, method, "() got multiple values for argument 'device'");
  }
  // At most one argument is there now, and values[0] holds it, by position or by name.
  return positional + named == 0 ? Py_None : values[0];
}

void refuse_others(const std::string& method, const move_arguments& arguments) {
  if (!arguments.others) return;
  const std::string keyword = py::str((*arguments.others.begin()).first);
  TORCH_CHECK_TYPE(false, method, "() got an unexpected keyword argument '", keyword, "'");
}

py::tuple positional_tuple(PyObject* const* values, Py_ssize_t positional) {
  py::tuple result(positional);
  for (Py_ssize_t i = 0; i < positional; ++i) result[i] = py::handle(values[i]);
  return result;
}

py::dict keyword_dict(PyObject* const* values, Py_ssize_t positional, PyObject* keywords) {
  py::dict result;
  const Py_ssize_t count = keywords == nullptr ? 0 : PyTuple_GET_SIZE(keywords);
  for (Py_ssize_t i = 0; i < count; ++i) {
    result[PyTuple_GET_ITEM(keywords, i)] = py::handle(values[positional + i]);
  }
  return result;
}

}  // namespace outback::python
