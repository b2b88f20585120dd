#include "backend_template/python/import_hook.h"

#include <utility>

namespace py = pybind11;

namespace outback::python {
namespace {

using action_t = std::function<void(py::module_)>;

py::list finders() {
  return py::module_::import("sys").attr("meta_path");
}

void stop_watching(const py::object& finder) {
  py::list all = finders();
  if (all.contains(finder)) all.attr("remove")(finder);
}

// Takes `finder` out of sys.meta_path until the end of the scope, also if an error ends it.
class paused_watch {
 public:
  explicit paused_watch(const py::object& finder) : finder_(finder) { stop_watching(finder); }
  paused_watch(const paused_watch&) = delete;
  paused_watch& operator=(const paused_watch&) = delete;
  ~paused_watch() {
    try {
      finders().insert(0, finder_);
    } catch (py::error_already_set& error) {
      error.discard_as_unraisable("a finder of modules that goes back to sys.meta_path");
    }
  }

 private:
  const py::object& finder_;
};

py::object spec_of_others(const std::string& name, const py::object& finder) {
  const paused_watch paused(finder);  // else the search would come back here
  return py::module_::import("importlib.util").attr("find_spec")(name);
}

// Returns the spec that the other finders have for `name`, with a loader that runs `action` at the
// end of the import. `finder` stays in sys.meta_path until the action has run: the caller may only
// want to know whether the module exists, and an import that failed may be tried again.
py::object watched_spec(const std::string& name, const py::object& finder, const action_t& action) {
  py::object spec = spec_of_others(name, finder);
  if (const py::object module = imported(name.c_str())) {
    // The search imports the module's package, which may import the module.
    action(module.cast<py::module_>());
    stop_watching(finder);
    return spec;
  }
  if (spec.is_none()) return spec;
  const py::object loader = spec.attr("loader");
  const py::object execute = loader.attr("exec_module");
  // Python made this loader for this one module, so no other import sees the change.
  loader.attr("exec_module") =
      py::cpp_function([execute, finder, action](const py::module_& module) {
        execute(module);
        action(module);
        stop_watching(finder);
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
