// Classes that Python could have written, for where torch expects subclasses of its own Python
// classes.
#pragma once

#include <pybind11/pybind11.h>

#include <string>
#include <string_view>
#include <utility>

namespace outback::python {

/// A class statement: `class <name>(<bases>): """<doc>"""` in the module named `module`.
inline pybind11::object new_class(const char* name, const pybind11::tuple& bases,
                                  const std::string& module, const char* doc,
                                  const pybind11::dict& members = {}) {
  // As `class` does it: with the metaclass of the bases.
  return pybind11::module_::import("types").attr("new_class")(
      name, bases, pybind11::none(), pybind11::cpp_function([&](const pybind11::dict& body) {
        body.attr("update")(members);
        body["__module__"] = module;
        body["__doc__"] = doc;
      }));
}

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

}  // namespace outback::python
