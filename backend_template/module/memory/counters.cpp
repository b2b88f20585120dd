// memory_allocated and its kin: the counters of the device allocator, under the names and keys of
// torch.cuda; the rest of them is in _outback/memory.py. None of these functions starts the
// backend.
#include "backend_template/module/memory/memory.h"

#include "backend_template/core/memory/allocator/statistics.h"
#include "backend_template/core/memory/device_allocator.h"
#include "backend_template/core/runtime/torch_version.h"
#include "backend_template/python/device_argument.h"

namespace py = pybind11;

namespace outback::python {
namespace {

using c10::CachingAllocator::Stat;
using c10::CachingAllocator::StatArray;
using core::device_stats;

device_stats stats_of(py::handle device) {
  const c10::DeviceIndex index = device_argument(device);
  c10::DeviceAllocator& allocator = core::device_allocator();
  return allocator.initialized() ? allocator.getDeviceStats(index) : device_stats{};
}

// Makes a function that returns one counter, of all pools together: row 0 of torch's StatArray.
template <int64_t Stat::* value>
auto counter(StatArray device_stats::* array) {
  return [array](py::handle device) { return (stats_of(device).*array)[0].*value; };
}

// What torch.cuda.memory_stats_as_nested_dict has, from the release that added it, and torch's own
// dict of a device's counters has not. The allocator is in use.
py::dict newer_stats(c10::DeviceIndex device) {
  [[maybe_unused]] const device_stats stats = core::device_allocator().getDeviceStats(device);
  py::dict dict;
#if OUTBACK_TORCH_AT_LEAST(2, 12)
  dict["num_oom_rejections"] = stats.num_oom_rejections;
#endif
#if OUTBACK_TORCH_AT_LEAST(2, 13)
  using namespace py::literals;
  py::dict pools;
  for (const auto& [id, array] : stats.reserved_bytes_by_private_pools) {
    pools[py::cast(id)] = py::dict("all"_a = dict_of(array[0]), "small_pool"_a = dict_of(array[1]),
                                   "large_pool"_a = dict_of(array[2]));
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

}  // namespace

py::dict dict_of(const Stat& stat) {
  using namespace py::literals;
  return py::dict("current"_a = stat.current, "peak"_a = stat.peak, "allocated"_a = stat.allocated,
                  "freed"_a = stat.freed);
}

void define_memory_counters(function_scope& memory, function_scope& native) {
  native.def("newer_stats", &newer_stats);
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
  memory.def("empty_cache", &empty_cache, py::doc("Gives cached memory that no tensor uses back."));
}

}  // namespace outback::python
