// Python classes made in C++, for the bases that torch wants subclassed in Python.
#pragma once

#include <pybind11/pybind11.h>

namespace outback::python {

/// `class name(*bases)` with `members` as its body.
pybind11::object make_class(const char* name, const pybind11::tuple& bases,
                            const pybind11::dict& members);

/// A member that is called without an instance: `function` is a Python callable or a C++ one.
pybind11::object static_method(const pybind11::object& function);

template <class Function, class... Extra>
pybind11::object bound_static_method(Function function, const Extra&... extra) {
  return static_method(pybind11::cpp_function(function, extra...));
}

/// A member whose first argument is the instance.
template <class Function, class... Extra>
pybind11::object bound_method(Function function, const Extra&... extra) {
  return pybind11::cpp_function(function, pybind11::is_method(pybind11::none()), extra...);
}

}  // namespace outback::python
