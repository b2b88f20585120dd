// memory_allocated, memory_stats and their kin: the counters of the device allocator, under the
// names and keys of torch.cuda. None of these functions starts the backend.
#include "backend_template/module/memory/memory.h"

#include <string>

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

// Appends (name, value) pairs to `flat`, with names such as "allocated_bytes.all.peak". A pool's
// id, which is a pair, becomes "0_1".
void flatten(const std::string& prefix, const py::dict& nested, py::list& flat) {
  for (const auto& [key, value] : nested) {
    std::string name;
    if (py::isinstance<py::tuple>(key)) {
      const auto [first, second] = key.cast<std::pair<uint64_t, uint64_t>>();
      name = prefix + std::to_string(first) + "_" + std::to_string(second);
    } else {
      name = prefix + key.cast<std::string>();
    }
    if (py::isinstance<py::dict>(value)) {
      flatten(name + ".", py::reinterpret_borrow<py::dict>(value), flat);
    } else {
      flat.append(py::make_tuple(name, value));
    }
  }
}

py::object memory_stats(py::handle device) {
  py::list flat;
  flatten("", nested_stats(device), flat);
  flat.attr("sort")();
  return py::module_::import("collections").attr("OrderedDict")(flat);
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

void warn_of_future(const std::string& text) {
  if (PyErr_WarnEx(PyExc_FutureWarning, text.c_str(), 1) != 0) throw py::error_already_set();
}

// An old name of a function, which warns as torch.cuda's does.
template <class F>
auto renamed(const std::string& module, const std::string& name, const std::string& now, F f) {
  const std::string text =
      "`" + module + "." + name + "` has been renamed to `" + module + "." + now + "`";
  return [text, f](py::handle device) {
    warn_of_future(text);
    return f(device);
  };
}

// Old names of reset_peak_memory_stats, which warn that it now resets all peaks.
auto resetting(const std::string& module, const std::string& name) {
  const std::string text = module + "." + name + " now calls " + module +
                           ".reset_peak_memory_stats, which resets /all/ peak memory stats.";
  return [text](py::handle device) {
    warn_of_future(text);
    reset_peak_memory_stats(device);
  };
}

}  // namespace

core::device_stats stats_of(py::handle device) {
  const c10::DeviceIndex index = device_argument(device);
  c10::DeviceAllocator& allocator = core::device_allocator();
  return allocator.initialized() ? allocator.getDeviceStats(index) : device_stats{};
}

void define_memory_counters(py::module_& memory, const std::string& qualified_name) {
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
  memory.def("memory_cached", renamed(qualified_name, "memory_cached", "memory_reserved", reserved),
             device, py::doc("Deprecated: memory_reserved."));
  memory.def("max_memory_cached",
             renamed(qualified_name, "max_memory_cached", "max_memory_reserved", most_reserved),
             device, py::doc("Deprecated: max_memory_reserved."));
  memory.def(
      "memory_stats", &memory_stats, device,
      py::doc(
          "All of the allocator's counters, under torch.cuda.memory_stats's keys, sorted. Empty "
          "before the first allocation."));
  memory.def(
      "memory_stats_as_nested_dict", &nested_stats, device,
      py::doc(
          "The counters of memory_stats as dicts of dicts. Empty before the first allocation."));
  memory.def("reset_peak_memory_stats", &reset_peak_memory_stats, device,
             py::doc("Sets the peaks to the current values."));
  memory.def("reset_accumulated_memory_stats", &reset_accumulated_memory_stats, device,
             py::doc("Sets the counters of what was ever allocated and freed to zero."));
  memory.def("reset_max_memory_allocated", resetting(qualified_name, "reset_max_memory_allocated"),
             device, py::doc("Deprecated: reset_peak_memory_stats, which resets all peaks."));
  memory.def("reset_max_memory_cached", resetting(qualified_name, "reset_max_memory_cached"),
             device, py::doc("Deprecated: reset_peak_memory_stats, which resets all peaks."));
  memory.def("empty_cache", &empty_cache, py::doc("Gives cached memory that no tensor uses back."));
}

}  // namespace outback::python
