// torch.<name>.host_memory_stats and its kin: the counters of the pinned allocator, which is
// torch's CachingHostAllocator, under torch.cuda's keys.
#include <ATen/core/CachingHostAllocator.h>

#include "backend_template/core/devices/lazy_start.h"
#include "backend_template/core/memory/host_allocator.h"
#include "backend_template/module/device_module.h"
#include "backend_template/module/memory/memory.h"

namespace py = pybind11;

namespace outback::python {
namespace {

using namespace py::literals;

py::dict timed(const c10::CachingAllocator::DurationStat& stat) {
  const double average =
      stat.count > 0 ? static_cast<double>(stat.total) / static_cast<double>(stat.count) : 0;
  return py::dict("total"_a = stat.total, "max"_a = stat.max, "min"_a = stat.min,
                  "count"_a = stat.count, "avg"_a = average);
}

// Empty before the backend is started; asking does not start it.
py::dict nested_host_stats() {
  if (!core::is_started()) return {};
  const at::HostStats stats = core::host_allocator().get_stats();
  return py::dict(
      "allocations"_a = dict_of(stats.allocations),
      "allocated_bytes"_a = dict_of(stats.allocated_bytes),
      "active_requests"_a = dict_of(stats.active_requests),
      "active_bytes"_a = dict_of(stats.active_bytes), "num_host_alloc"_a = stats.num_host_alloc,
      "num_host_free"_a = stats.num_host_free, "host_alloc_time"_a = timed(stats.host_alloc_time),
      "host_free_time"_a = timed(stats.host_free_time));
}

}  // namespace

void define_host_memory(function_scope& module) {
  module.def("host_memory_stats_as_nested_dict", &nested_host_stats,
             py::doc("The same as host_memory_stats, one dict a counter."));
  module.def(
      "reset_peak_host_memory_stats", [] { core::host_allocator().reset_peak_stats(); },
      py::doc("Sets the peaks of the pinned allocator's counters to the current values."));
  module.def(
      "reset_accumulated_host_memory_stats",
      [] { core::host_allocator().reset_accumulated_stats(); },
      py::doc("Sets what the pinned allocator ever allocated and freed to zero."));
}

}  // namespace outback::python
