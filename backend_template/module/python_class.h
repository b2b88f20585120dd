// Python classes made in C++, for places where torch expects subclasses of its own Python classes;
// pybind11::class_ cannot derive from those. Internal to module/; with the GIL held. Errors of
// Python are thrown as pybind11::error_already_set.
#pragma once

#include <pybind11/pybind11.h>

#include <string>
#include <string_view>
#include <utility>

namespace outback::python {

/// Does what a class statement does: `class <name>(<bases>): """<doc>"""` in the module named
/// `module`, with `members` as its body. Returns the class and binds no name to it.
pybind11::object new_class(const char* name, const pybind11::tuple& bases,
                           const std::string& module, const char* doc,
                           const pybind11::dict& members = {});

/// Adds a method to `type`; `function` gets the instance as its first argument. `extra` is what
/// pybind11::cpp_function takes. pybind11 takes a function named __init__ for a constructor of one
/// of its own classes, so such a function gets another name; the attribute is __init__ all the
/// same.
template <class Function, class... Extra>
void add_method(const pybind11::object& type, const char* name, Function&& function,
                const Extra&... extra) {
  type.attr(name) =
      pybind11::cpp_function(std::forward<Function>(function),
                             pybind11::name(std::string_view(name) == "__init__" ? "init" : name),
                             pybind11::is_method(type), extra...);
}

/// Returns `staticmethod(function)`, a member that is called without an instance. `function` is any
/// Python callable.
pybind11::object static_method(const pybind11::object& function);

/// The same for a C++ function.
template <class Function, class... Extra>
pybind11::object bound_static_method(Function function, const Extra&... extra) {
  return static_method(pybind11::cpp_function(function, extra...));
}

/// Returns a member for `new_class` that gets the instance as its first argument.
template <class Function, class... Extra>
pybind11::object bound_method(Function function, const Extra&... extra) {
  return pybind11::cpp_function(function, pybind11::is_method(pybind11::none()), extra...);
}

}  // namespace outback::python
