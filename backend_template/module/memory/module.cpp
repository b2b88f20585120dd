// Makes the module torch.<name>.memory and gives torch.<name> its public names, as torch.cuda has
// them.
#include <string>

#include "backend_template/module/device_module.h"
#include "backend_template/module/memory/memory.h"
#include "outback/backend.h"

namespace py = pybind11;

namespace outback::python {
namespace {

py::module_ new_module(const std::string& qualified_name) {
  auto made = py::reinterpret_steal<py::module_>(PyModule_New(qualified_name.c_str()));
  if (!made) throw py::error_already_set();
  made.doc() = "The device's memory: what its allocator holds, counts, and remembers.";
  return made;
}

}  // namespace

void define_memory(py::module_& module) {
  const std::string device_module = "torch." + backend_name();
  py::module_ memory = new_module(device_module + ".memory");
  define_memory_counters(memory, device_module);
  define_memory_summary(memory);
  define_memory_limits(memory);
  define_raw_memory(memory);
  define_memory_pools(memory);
  define_memory_history(memory);
  define_memory_snapshots(memory);

  py::list names;
  const py::dict members = memory.attr("__dict__");
  for (const auto& [key, value] : members) {
    const auto name = key.cast<std::string>();
    if (name.front() == '_') continue;
    names.append(key);
    py::setattr(module, key, value);
  }
  memory.attr("__all__") = names;
  module.attr("memory") = memory;
  // Lets `import torch.<name>.memory` find it.
  py::module_::import("sys").attr("modules")[memory.attr("__name__")] = memory;
}

}  // namespace outback::python
