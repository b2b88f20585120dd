// Defines functions in a module faster than pybind11::module_ does, to shorten the import.
#pragma once

#include <pybind11/pybind11.h>

#include <utility>

namespace outback::python {

/// A module in which functions are being defined. A second definition of a name replaces the first
/// one, instead of overloading it. Needs the GIL. Throws pybind11::error_already_set for an error
/// in Python.
///
/// For each function, pybind11 looks up two attributes that the module does not have: an older
/// definition of the name, and the module's own __module__. The two exceptions that Python raises
/// then take three times as long as the definition itself. This class skips the first look-up, and
/// gives the module a __module__ while it lives.
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
