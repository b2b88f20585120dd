// What _record_memory_history calls: records who allocates and frees memory, for snapshots
// (snapshot.cpp).
#include "backend_template/core/memory/allocator/history.h"

#include <pybind11/stl.h>
#include <torch/csrc/profiler/combined_traceback.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backend_template/core/devices/lazy_start.h"
#include "backend_template/core/memory/allocator/caches.h"
#include "backend_template/module/memory/memory.h"

namespace py = pybind11;

namespace outback::python {
namespace {

template <bool with_cpp>
std::shared_ptr<c10::GatheredContext> stack() {
  return torch::CapturedTraceback::gather(/*python=*/true, /*script=*/true, with_cpp);
}

// A forked child must not touch the mutexes of its parent's caches, which another thread may have
// held. ensure_started throws there.
void refuse_in_fork() {
  if (core::is_in_bad_fork()) core::ensure_started();
}

// `contexts` is a number of RecordContext.
void record(bool enabled, bool with_cpp, int contexts, size_t most_entries, bool clear,
            const std::vector<std::string>& skipped_actions) {
  core::history_settings settings{
      .enabled = enabled,
      .gather = with_cpp ? &stack<true> : &stack<false>,
      .contexts = static_cast<c10::CachingDeviceAllocator::RecordContext>(contexts),
      .most_entries = most_entries,
      .clear = clear};
  for (const std::string& action : skipped_actions) {
    settings.skipped |= uint32_t{1} << c10::CachingDeviceAllocator::parseTraceEntryAction(action);
  }
  refuse_in_fork();
  const py::gil_scoped_release no_gil;
  core::record_history(settings);
}

}  // namespace

void define_memory_history(function_scope& memory, function_scope& native) {
  native.def("record_history", &record);
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
