// Defines functions in a module faster than pybind11::module_ does, which matters to the import.
#pragma once

#include <pybind11/pybind11.h>

#include <utility>

namespace outback::python {

/// A module while functions are defined in it, each name once: a second definition replaces the
/// first, and is no overload of it. Needs the GIL. Throws pybind11::error_already_set for an error
/// in Python.
///
/// pybind11 asks a module for two attributes that it does not have, for each function: an older
/// definition of the name, and the module's own __module__. The exceptions that Python raises for
/// that take three times as long as the definition itself. Here nobody asks for the first, and the
/// module has the second as long as this lives.
class function_scope : public pybind11::module_ {
 public:
  explicit function_scope(const pybind11::module_& module) : pybind11::module_(module) {
    attr("__module__") = attr("__name__");
  }
  function_scope(const function_scope&) = delete;
  function_scope& operator=(const function_scope&) = delete;
  ~function_scope() {
    const pybind11::error_scope under_way;
    PyObject_DelAttrString(ptr(), "__module__");
  }

  template <class Function, class... Extra>
  function_scope& def(const char* name, Function&& function, const Extra&... extra) {
    add_object(name,
               pybind11::cpp_function(std::forward<Function>(function), pybind11::name(name),
                                      pybind11::scope(*this), extra...),
               /*overwrite=*/true);
    return *this;
  }
};

}  // namespace outback::python
