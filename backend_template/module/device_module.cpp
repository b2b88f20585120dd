#include "backend_template/module/device_module.h"

#include "backend_template/core/races/race_finder.h"
#include "backend_template/module/memory/memory.h"
#include "backend_template/ops/report/variables.h"
#include "backend_template/python/embedded.h"

namespace py = pybind11;

namespace outback::python {
namespace {

// torch.<name>.memory, whose public names the device module has too.
void define_memory(function_scope& native, const char* doc) {
  function_scope memory(part("surface").attr("add_submodule")("memory", doc).cast<py::module_>());
  define_memory_counters(memory, native);
  define_memory_limits(memory, native);
  define_raw_memory(memory);
  define_memory_history(memory, native);
  define_memory_snapshots(memory, native);
  part("memory").attr("define")(memory);
}

}  // namespace

void define_device_module(py::module_& extension) {
  function_scope module(extension);
  const py::module_ package = define_package(module);
  define_native(module, package);
  function_scope native(package.attr("_native").cast<py::module_>());
  define_graphs(native);
  define_memory_pools(native);
  define_operators(native);
  define_races(native);
  define_devices(module);
  define_contexts(module);
  define_streams(module);
  define_memory(native, "The device's memory: what its allocator holds, counts, and remembers.");
  define_host_memory(module);
  define_fallback(module);
  define_kernels(module, native);
  define_generated_kernels(native);
  define_peer(module);
  define_interop(module, native);
  define_telemetry(module);
  for (const char* each : {"lazy_calls", "properties", "ranges", "sync_debug", "surface"})
    part(each).attr("define")();
  if (ops::wanted_report()) part("operators").attr("record_until_the_end")();
  if (core::are_races_wanted()) module.attr("_sanitizer").attr("enable")();
}

}  // namespace outback::python
