// _record_memory_history: records who allocates and frees memory, for snapshots (snapshot.cpp).
#include "backend_template/core/memory/allocator/history.h"

#include <c10/util/Exception.h>
#include <pybind11/stl.h>
#include <torch/csrc/profiler/combined_traceback.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "backend_template/core/devices/lazy_start.h"
#include "backend_template/core/memory/allocator/caches.h"
#include "backend_template/module/memory/memory.h"
#include "outback/backend.h"

namespace py = pybind11;

namespace outback::python {
namespace {

using c10::CachingDeviceAllocator::RecordContext;
using core::history_settings;

std::shared_ptr<c10::GatheredContext> python_stack() {
  return torch::CapturedTraceback::gather(/*python=*/true, /*script=*/true, /*cpp=*/false);
}
std::shared_ptr<c10::GatheredContext> whole_stack() {
  return torch::CapturedTraceback::gather(/*python=*/true, /*script=*/true, /*cpp=*/true);
}

void check_option(const std::string& given, std::initializer_list<const char*> options,
                  const char* message) {
  TORCH_CHECK(std::find(options.begin(), options.end(), given) != options.end(), message);
}

RecordContext contexts_of(const std::optional<std::string>& context) {
  if (!context) return RecordContext::NEVER;
  check_option(*context, {"state", "alloc", "all"},
               "expected context to be 'state', 'alloc', 'all', or None");
  if (*context == "all") return RecordContext::ALL;
  return *context == "alloc" ? RecordContext::ALLOC : RecordContext::STATE;
}

// Turns names of actions into the bits of history_settings::skipped.
uint32_t skipped(const std::vector<std::string>& actions) {
  uint32_t bits = 0;
  for (const std::string& action : actions) {
    bits |= uint32_t{1} << c10::CachingDeviceAllocator::parseTraceEntryAction(action);
  }
  return bits;
}

// A forked child must not touch the mutexes of its parent's caches, which another thread may have
// held. ensure_started throws there.
void refuse_in_fork() {
  if (core::is_in_bad_fork()) core::ensure_started();
}

void apply(const history_settings& settings) {
  refuse_in_fork();
  const py::gil_scoped_release no_gil;
  core::record_history(settings);
}

// torch.cuda's older form, whose first argument is a bool. Its other arguments keep their defaults.
void record_as_of_old(bool enabled) {
  apply({.enabled = enabled, .gather = &python_stack, .contexts = RecordContext::STATE});
}

void record(const py::object& enabled, const std::optional<std::string>& context,
            const std::string& stacks, const py::int_& max_entries, py::handle /*device*/,
            bool clear_history, bool compile_context, bool global_record_annotations,
            const std::optional<std::vector<std::string>>& skip_actions) {
  if (py::isinstance<py::bool_>(enabled)) return record_as_of_old(enabled.cast<bool>());
  TORCH_CHECK_NOT_IMPLEMENTED(!compile_context && !global_record_annotations, backend_name(),
                              ": _record_memory_history: compile_context and "
                              "global_record_annotations are not recorded: expected False");
  history_settings settings{.enabled = !enabled.is_none()};
  if (settings.enabled) {
    check_option(enabled.cast<std::string>(), {"state", "all"},
                 "expected state to be 'state', 'all', or None");
  }
  check_option(stacks, {"python", "all"}, "expected stacks to be 'python', or 'all'");
  settings.gather = stacks == "all" ? &whole_stack : &python_stack;
  settings.contexts = contexts_of(context);
  settings.clear = clear_history;
  if (settings.enabled && enabled.cast<std::string>() == "all") {
    settings.most_entries = max_entries.cast<size_t>();
  }
  if (skip_actions) settings.skipped = skipped(*skip_actions);
  apply(settings);
}

}  // namespace

void define_memory_history(py::module_& memory) {
  memory.def(
      "_record_memory_history", &record, py::arg("enabled") = "all", py::arg("context") = "all",
      py::arg("stacks") = "all",
      py::arg("max_entries") = py::module_::import("sys").attr("maxsize"),
      py::arg("device") = py::none(), py::arg("clear_history") = false,
      py::arg("compile_context") = false, py::arg("global_record_annotations") = false,
      py::arg("skip_actions") = py::none(),
      py::doc("Records from now on who allocates (enabled=\"state\"), and the last `max_entries` "
              "events of each device too (\"all\"); None stops. For _snapshot()."));
  memory.def(
      "_set_memory_metadata",
      [](const std::string& metadata) {
        refuse_in_fork();
        core::set_history_metadata(metadata);
      },
      py::arg("metadata"), py::doc("A text that every event from now on carries; \"\": none."));
  memory.def("_get_memory_metadata", &core::history_metadata,
             py::doc("The text that _set_memory_metadata set."));
}

}  // namespace outback::python
