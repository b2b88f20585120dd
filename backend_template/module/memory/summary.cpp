// memory_summary: the counters as a table for people, in the layout of torch.cuda.memory_summary.
#include <c10/core/CachingDeviceAllocator.h>

#include <algorithm>
#include <cctype>
#include <string>

#include "backend_template/core/runtime/format.h"
#include "backend_template/module/memory/memory.h"
#include "backend_template/python/device_argument.h"
#include "outback/backend.h"

namespace py = pybind11;

namespace outback::python {
namespace {

using c10::CachingAllocator::Stat;
using c10::CachingAllocator::StatArray;
using c10::CachingAllocator::StatType;
using core::device_stats;

constexpr int width = 75;  // of a line, without the bars at its ends

// Prints `size` in the unit that suits `scale`, so that all rows of one metric have one unit. The
// limits are torch.cuda's.
std::string size_text(int64_t size, int64_t scale) {
  auto rest = static_cast<double>(scale);
  const char* unit = "B  ";
  for (const char* next : {"KiB", "MiB", "GiB", "TiB", "PiB"}) {
    if (rest < 768.0 * 1024) break;
    unit = next;
    size /= 1024;
    rest /= 1024;
  }
  return core::format("{:6d} {}", size, unit);
}

// The same for numbers of blocks, in thousands and millions.
std::string count_text(int64_t count, int64_t scale) {
  auto rest = static_cast<double>(scale);
  const char* unit = " ";
  for (const char* next : {"K", "M"}) {
    if (rest < 750.0 * 1000) break;
    unit = next;
    count /= 1000;
    rest /= 1000;
  }
  return core::format("{:7d} {} ", count, unit);
}

using formatter = std::string (*)(int64_t, int64_t);

struct metric {
  const char* name;
  StatArray device_stats::* array;
  formatter text;
};

constexpr metric metrics[] = {
    {"Allocated memory", &device_stats::allocated_bytes, &size_text},
    {"Active memory", &device_stats::active_bytes, &size_text},
    {"Requested memory", &device_stats::requested_bytes, &size_text},
    {"Reserved memory", &device_stats::reserved_bytes, &size_text},
    {"Non-releasable memory", &device_stats::inactive_split_bytes, &size_text},
    {"Allocations", &device_stats::allocation, &count_text},
    {"Active allocs", &device_stats::active, &count_text},
    {"Reserved segments", &device_stats::segment, &count_text},
    {"Non-releasable allocs", &device_stats::inactive_split, &count_text},
};

std::string row(const char* name, const Stat& stat, const Stat& scale, formatter text) {
  return core::format("| {:<21} | {} | {} | {} | {} |\n", name, text(stat.current, scale.current),
                      text(stat.peak, scale.peak), text(stat.allocated, scale.allocated),
                      text(stat.freed, scale.freed));
}

std::string line(char of) {
  return "|" + std::string(width, of) + "|\n";
}

std::string memory_summary(py::handle device, bool abbreviated) {
  const c10::DeviceIndex index = device_argument(device);
  const device_stats stats = stats_of(device);
  std::string title = backend_name();
  std::transform(title.begin(), title.end(), title.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  std::string all = line('=');
  all += core::format("|{:<{}}|\n",
                      core::format("{:17} PyTorch {} memory summary, device ID {}", "", title,
                                   static_cast<int>(index)),
                      width);
  all += line('-');
  all += core::format("|{:<{}}|\n",
                      core::format("{:11} {} OOMs: {:<12d} | {:6} mem_alloc retries: {:<8d}", "",
                                   title, stats.num_ooms, "", stats.num_alloc_retries),
                      width);
  all += line('=');
  all += core::format("|{:<{}}|\n",
                      "        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed",
                      width);
  for (const metric& shown : metrics) {
    const StatArray& array = stats.*shown.array;
    const Stat& scale = array[static_cast<size_t>(StatType::AGGREGATE)];
    all += line('-') + row(shown.name, scale, scale, shown.text);
    if (abbreviated) continue;
    all += row("      from large pool", array[static_cast<size_t>(StatType::LARGE_POOL)], scale,
               shown.text);
    all += row("      from small pool", array[static_cast<size_t>(StatType::SMALL_POOL)], scale,
               shown.text);
  }
  for (const auto& [name, stat] :
       {std::pair<const char*, const Stat*>{"Oversize allocations", &stats.oversize_allocations},
        std::pair<const char*, const Stat*>{"Oversize segments", &stats.oversize_segments}}) {
    all += line('-') + row(name, *stat, *stat, &count_text);
  }
  return all + line('=');
}

}  // namespace

void define_memory_summary(py::module_& memory) {
  memory.def(
      "memory_summary", &memory_summary, py::arg("device") = py::none(),
      py::arg("abbreviated") = false,
      py::doc("The counters of memory_stats as a table for people; `abbreviated`: without the two "
              "pools."));
}

}  // namespace outback::python
