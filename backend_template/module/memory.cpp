// torch.<name>.memory_allocated and its kin: what the device allocator counts.
#include <c10/core/CachingDeviceAllocator.h>

#include "backend_template/core/device.h"
#include "backend_template/core/device_allocator.h"
#include "backend_template/module/device_module.h"
#include "registration/python/device_argument.h"

namespace py = pybind11;

namespace outback::python {
namespace {

using device_stats = c10::CachingDeviceAllocator::DeviceStats;
using stat_array = c10::CachingAllocator::StatArray;

// Before the first allocation nothing is counted, and asking starts nothing.
device_stats stats_of(py::handle device) {
  const c10::DeviceIndex index = device_argument(device);
  c10::DeviceAllocator& allocator = core::device_allocator();
  return allocator.initialized() ? allocator.getDeviceStats(index) : device_stats{};
}

// All pools together.
template <int64_t c10::CachingAllocator::Stat::* value>
auto counter(stat_array device_stats::* array) {
  return [array](py::handle device) { return (stats_of(device).*array)[0].*value; };
}

// torch flattens them into torch.cuda's keys.
py::object memory_stats(py::handle device) {
  const c10::DeviceIndex index = device_argument(device);
  return py::module_::import("torch.accelerator").attr("memory_stats")(static_cast<int>(index));
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

std::pair<size_t, size_t> mem_get_info(py::handle device) {
  const c10::DeviceIndex index = device_argument(device);
  start_from_python();
  const py::gil_scoped_release no_gil;
  return core::device_allocator().getMemoryInfo(index);
}

}  // namespace

void define_memory(py::module_& module) {
  using stat = c10::CachingAllocator::Stat;
  const auto device = py::arg("device") = py::none();
  module.def("memory_allocated", counter<&stat::current>(&device_stats::allocated_bytes), device,
             "Bytes that tensors hold now.");
  module.def("max_memory_allocated", counter<&stat::peak>(&device_stats::allocated_bytes), device,
             "The most bytes that tensors held since the peak was reset.");
  module.def("memory_reserved", counter<&stat::current>(&device_stats::reserved_bytes), device,
             "Bytes that the allocator holds now, the cached ones included.");
  module.def("max_memory_reserved", counter<&stat::peak>(&device_stats::reserved_bytes), device,
             "The most bytes that the allocator held since the peak was reset.");
  module.def("memory_stats", &memory_stats, device,
             "All of the allocator's counters, under torch.cuda.memory_stats's keys.");
  module.def("reset_peak_memory_stats", &reset_peak_memory_stats, device,
             "Sets the peaks to the current values.");
  module.def("reset_accumulated_memory_stats", &reset_accumulated_memory_stats, device,
             "Sets the counters of what was ever allocated and freed to zero.");
  module.def("empty_cache", &empty_cache, "Gives cached memory that no tensor uses back.");
  module.def("mem_get_info", &mem_get_info, device,
             "Free and total bytes of the device, other processes included.");
}

}  // namespace outback::python
