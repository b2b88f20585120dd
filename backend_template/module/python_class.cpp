#include "backend_template/module/python_class.h"

namespace py = pybind11;

namespace outback::python {

py::object new_class(const char* name, const py::tuple& bases, const std::string& module,
                     const char* doc, const py::dict& members) {
  // types.new_class finds the metaclass of the bases, as the class statement does.
  const auto types = py::module_::import("types");
  return types.attr("new_class")(name, bases, py::none(),
                                 py::cpp_function([&](const py::dict& body) {
                                   body.attr("update")(members);
                                   body["__module__"] = module;
                                   body["__doc__"] = doc;
                                 }));
}

py::object static_method(const py::object& function) {
  return py::module_::import("builtins").attr("staticmethod")(function);
}

}  // namespace outback::python
