#include "registration/python/import_hook.h"

#include <utility>

namespace py = pybind11;

namespace outback::python {
namespace {

using action_t = std::function<void(py::module_)>;

// The spec that the other finders have for `name`, with a loader that runs `action` at the end.
py::object watched_spec(const std::string& name, const action_t& action) {
  py::object spec = py::module_::import("importlib.util").attr("find_spec")(name);
  if (spec.is_none()) return spec;
  const py::object loader = spec.attr("loader");
  const py::object execute = loader.attr("exec_module");
  // On the loader that was made for this one module, so that nothing else ever sees it.
  loader.attr("exec_module") = py::cpp_function([execute, action](const py::module_& module) {
    execute(module);
    action(module);
  });
  return spec;
}

}  // namespace

py::object imported(const char* name) {
  const py::dict modules = py::module_::import("sys").attr("modules");
  return modules.contains(name) ? py::object(modules[name]) : py::object();
}

void when_imported(const std::string& name, action_t action) {
  if (const py::object module = imported(name.c_str())) {
    action(module.cast<py::module_>());
    return;
  }
  // A finder of the import system, first in line and gone after its one use.
  py::list finders = py::module_::import("sys").attr("meta_path");
  const py::object finder = py::module_::import("types").attr("SimpleNamespace")();
  finder.attr("find_spec") = py::cpp_function(
      [name, action = std::move(action), finders, self = py::handle(finder)](
          const std::string& wanted, const py::args&, const py::kwargs&) -> py::object {
        if (wanted != name) return py::none();
        finders.attr("remove")(self);
        return watched_spec(name, action);
      });
  finders.insert(0, finder);
}

}  // namespace outback::python
