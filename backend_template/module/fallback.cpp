// torch.<name>.set_fallback_mode and get_fallback_mode (outback/backend.h), and fallback_stats.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <map>
#include <string>

#include "backend_template/module/device_module.h"
#include "backend_template/ops/copies/fallback_counts.h"
#include "backend_template/ops/copies/policy.h"

namespace py = pybind11;

namespace outback::python {
namespace {

using counts_by_name = std::map<std::string, uint64_t>;

std::map<std::string, counts_by_name> fallback_stats() {
  std::map<std::string, counts_by_name> all;
  for (const auto& [text, counts] : ops::all_fallback_counts()) {
    all[text] = {{"calls", counts->calls},
                 {"bytes_to_host", counts->bytes_to_host},
                 {"bytes_to_device", counts->bytes_to_device}};
  }
  return all;
}

}  // namespace

void define_fallback(function_scope& module) {
  module.def(
      "set_fallback_mode",
      [](const std::string& mode) {
        set_fallback_mode(ops::read_fallback_mode(mode, "set_fallback_mode"));
      },
      py::arg("mode"),
      R"(What to do with operators that have no kernel for this device, if the CPU cannot address its memory.

Args:
    mode: "allow" runs them on the CPU, over copies of their tensors; "warn" says so once an
        operator; "error" raises NotImplementedError. The environment's OUTBACK_FALLBACK sets the
        first mode.)");
  module.def(
      "get_fallback_mode", [] { return std::string(ops::name_of(get_fallback_mode())); },
      R"(The mode that `set_fallback_mode` sets: "allow", "warn" or "error".)");
  module.def(
      "fallback_stats", &fallback_stats,
      R"(Which operators have run on the CPU over copies of their tensors since the process began.

Of each, "calls", "bytes_to_host" and "bytes_to_device". Empty where the CPU, or the device's
twin, reaches the device's memory. It is always counted.)");
}

}  // namespace outback::python
