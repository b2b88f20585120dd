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

// Returns the spec that the other finders have for `name`, with a loader that runs `action` at the
// end of the import. `finder` leaves sys.meta_path for the search, so that the search does not come
// back here, and returns to it afterwards: the caller may only want to know whether the module
// exists.
py::object watched_spec(const std::string& name, const py::object& finder, const action_t& action) {
  remove(finder);
  py::object spec = py::module_::import("importlib.util").attr("find_spec")(name);
  if (const py::object module = imported(name.c_str())) {
    // The search imports the module's package, which may import the module.
    action(module.cast<py::module_>());
    return spec;
  }
  finders().insert(0, finder);
  if (spec.is_none()) return spec;
  const py::object loader = spec.attr("loader");
  const py::object execute = loader.attr("exec_module");
  // Python made this loader for this one module, so no other import sees the change.
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
  // A finder of the import system, put first. Any object with find_spec will do. The lambda holds a
  // borrowed handle to its own finder, since a reference would be a cycle; sys.meta_path owns it.
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
