// memory_allocated and its kin: the counters of the device allocator, under the names
// and keys of torch.cuda. None of these functions starts the backend.
#include "backend_template/module/memory/memory.h"

#include "backend_template/core/memory/device_allocator.h"
#include "backend_template/core/runtime/torch_version.h"
#include "backend_template/python/device_argument.h"

namespace py = pybind11;

namespace outback::python {
namespace {

using c10::CachingAllocator::Stat;
using c10::CachingAllocator::StatArray;
using core::device_stats;

// Makes a function that returns one counter, of all pools together: row 0 of torch's StatArray.
template <int64_t Stat::* value>
auto counter(StatArray device_stats::* array) {
  return [array](py::handle device) { return (stats_of(device).*array)[0].*value; };
}

py::dict dict_of(const Stat& stat) {
  py::dict dict;
  dict["current"] = stat.current;
  dict["peak"] = stat.peak;
  dict["allocated"] = stat.allocated;
  dict["freed"] = stat.freed;
  return dict;
}

py::dict dict_of(const StatArray& array) {
  static constexpr const char* pools[] = {"all", "small_pool", "large_pool"};
  py::dict dict;
  for (size_t i = 0; i < array.size(); ++i) dict[pools[i]] = dict_of(array[i]);
  return dict;
}

// The keys of torch.cuda.memory_stats_as_nested_dict. Newer ones exist from the release that added
// them.
py::dict nested_stats(py::handle device) {
  const c10::DeviceIndex index = device_argument(device);
  c10::DeviceAllocator& allocator = core::device_allocator();
  py::dict dict;
  if (!allocator.initialized()) return dict;
  const device_stats stats = allocator.getDeviceStats(index);
  dict["num_alloc_retries"] = stats.num_alloc_retries;
  dict["num_ooms"] = stats.num_ooms;
  dict["max_split_size"] = stats.max_split_size;
  dict["num_sync_all_streams"] = stats.num_sync_all_streams;
  dict["num_device_alloc"] = stats.num_device_alloc;
  dict["num_device_free"] = stats.num_device_free;
  dict["allocation"] = dict_of(stats.allocation);
  dict["segment"] = dict_of(stats.segment);
  dict["active"] = dict_of(stats.active);
  dict["inactive_split"] = dict_of(stats.inactive_split);
  dict["allocated_bytes"] = dict_of(stats.allocated_bytes);
  dict["reserved_bytes"] = dict_of(stats.reserved_bytes);
  dict["active_bytes"] = dict_of(stats.active_bytes);
  dict["inactive_split_bytes"] = dict_of(stats.inactive_split_bytes);
  dict["requested_bytes"] = dict_of(stats.requested_bytes);
  dict["oversize_allocations"] = dict_of(stats.oversize_allocations);
  dict["oversize_segments"] = dict_of(stats.oversize_segments);
#if OUTBACK_TORCH_AT_LEAST(2, 12)
  dict["num_oom_rejections"] = stats.num_oom_rejections;
#endif
#if OUTBACK_TORCH_AT_LEAST(2, 13)
  py::dict pools;
  for (const auto& [id, array] : stats.reserved_bytes_by_private_pools) {
    pools[py::make_tuple(id.first, id.second)] = dict_of(array);
  }
  dict["reserved_bytes_by_private_pools"] = pools;
#endif
  return dict;
}

void empty_cache() {
  c10::DeviceAllocator& allocator = core::device_allocator();
  const py::gil_scoped_release no_gil;
  if (allocator.initialized()) allocator.emptyCache();
}

void reset_peak_memory_stats(py::handle device) {
  const c10::DeviceIndex index = device_argument(device);
  c10::DeviceAllocator& allocator = core::device_allocator();
  if (allocator.initialized()) allocator.resetPeakStats(index);
}

void reset_accumulated_memory_stats(py::handle device) {
  const c10::DeviceIndex index = device_argument(device);
  c10::DeviceAllocator& allocator = core::device_allocator();
  if (allocator.initialized()) allocator.resetAccumulatedStats(index);
}

}  // namespace

core::device_stats stats_of(py::handle device) {
  const c10::DeviceIndex index = device_argument(device);
  c10::DeviceAllocator& allocator = core::device_allocator();
  return allocator.initialized() ? allocator.getDeviceStats(index) : device_stats{};
}

void define_memory_counters(py::module_& memory) {
  const auto device = py::arg("device") = py::none();
  const auto reserved = counter<&Stat::current>(&device_stats::reserved_bytes);
  const auto most_reserved = counter<&Stat::peak>(&device_stats::reserved_bytes);
  memory.def("memory_allocated", counter<&Stat::current>(&device_stats::allocated_bytes), device,
             py::doc("Bytes that tensors hold now."));
  memory.def("max_memory_allocated", counter<&Stat::peak>(&device_stats::allocated_bytes), device,
             py::doc("The most bytes that tensors held since the peak was reset."));
  memory.def("memory_reserved", reserved, device,
             py::doc("Bytes that the allocator holds now, the cached ones included."));
  memory.def("max_memory_reserved", most_reserved, device,
             py::doc("The most bytes that the allocator held since the peak was reset."));
  memory.def(
      "memory_stats_as_nested_dict", &nested_stats, device,
      py::doc(
          "The counters of memory_stats as dicts of dicts. Empty before the first allocation."));
  memory.def("reset_peak_memory_stats", &reset_peak_memory_stats, device,
             py::doc("Sets the peaks to the current values."));
  memory.def("reset_accumulated_memory_stats", &reset_accumulated_memory_stats, device,
             py::doc("Sets the counters of what was ever allocated and freed to zero."));
  memory.def("empty_cache", &empty_cache, py::doc("Gives cached memory that no tensor uses back."));
}

}  // namespace outback::python
