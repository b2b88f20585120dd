#include "backend_template/python/import_hook.h"

#include <utility>

namespace py = pybind11;

namespace outback::python {
namespace {

using action_t = std::function<void(py::module_)>;

py::list finders() {
  return py::module_::import("sys").attr("meta_path");
}

void remove(const py::object& finder) {
  py::list all = finders();
  if (all.contains(finder)) all.attr("remove")(finder);
}

// The spec that the other finders have for `name`, with a loader that runs `action` at the end of
// the import. `finder` steps aside for the search, and is gone after that.
py::object watched_spec(const std::string& name, const py::object& finder, const action_t& action) {
  remove(finder);
  py::object spec = py::module_::import("importlib.util").attr("find_spec")(name);
  if (const py::object module = imported(name.c_str())) {
    action(module.cast<py::module_>());  // the search imported its package, and that imported it
    return spec;
  }
  finders().insert(0, finder);
  if (spec.is_none()) return spec;
  const py::object loader = spec.attr("loader");
  const py::object execute = loader.attr("exec_module");
  // On the loader that was made for this one module, so that nothing else ever sees it.
  loader.attr("exec_module") =
      py::cpp_function([execute, finder, action](const py::module_& module) {
        remove(finder);
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
  // A finder of the import system, first in line. It is also asked by who only wants to know
  // whether there is such a module.
  const py::object finder = py::module_::import("types").attr("SimpleNamespace")();
  finder.attr("find_spec") = py::cpp_function(
      [name, action = std::move(action), self = py::handle(finder)](
          const std::string& wanted, const py::args&, const py::kwargs&) -> py::object {
        if (wanted != name) return py::none();
        return watched_spec(name, py::reinterpret_borrow<py::object>(self), action);
      });
  finders().insert(0, finder);
}

}  // namespace outback::python
