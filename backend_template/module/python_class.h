// Python classes made in C++, for where torch expects subclasses of its own Python classes.
#pragma once

#include <pybind11/pybind11.h>

#include <string>
#include <string_view>
#include <utility>

namespace outback::python {

/// A class statement: `class <name>(<bases>): """<doc>"""` in the module named `module`, with
/// `members` as its body.
pybind11::object new_class(const char* name, const pybind11::tuple& bases,
                           const std::string& module, const char* doc,
                           const pybind11::dict& members = {});

/// A method of `type`; the first argument of `function` is `self`. pybind11 takes a function that
/// is called __init__ for a constructor of its own classes, so that ours is called otherwise.
template <class Function, class... Extra>
void add_method(const pybind11::object& type, const char* name, Function&& function,
                const Extra&... extra) {
  type.attr(name) =
      pybind11::cpp_function(std::forward<Function>(function),
                             pybind11::name(std::string_view(name) == "__init__" ? "init" : name),
                             pybind11::is_method(type), extra...);
}

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
