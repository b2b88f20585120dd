#include "backend_template/core/memory/allocator/leak_report.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/devices/lazy_start.h"
#include "backend_template/core/memory/allocator/caches.h"
#include "backend_template/core/memory/allocator/out_of_memory.h"
#include "backend_template/core/runtime/environment.h"
#include "backend_template/core/runtime/format.h"
#include "backend_template/core/runtime/runtime.h"

namespace outback::core {
namespace {

// How many allocations the report lists for a device, the largest first.
constexpr size_t most_listed = 20;

std::atomic<bool> is_wanted{false};

struct leak {
  size_t address;
  size_t size;
  c10::StreamId stream;
};

std::vector<leak> leaks_of(device_cache& cache) {
  std::vector<leak> all;
  for (const segment_info& segment : cache.segments({0, 0})) {
    // torch's BlockInfo has no address: blocks follow one another from the segment's on.
    size_t address = segment.address;
    for (const auto& part : segment.blocks) {
      if (part.allocated) {
        all.push_back(
            {address, part.requested_size, reinterpret_cast<c10::StreamId>(segment.stream)});
      }
      address += part.size;
    }
  }
  std::sort(all.begin(), all.end(), [](const leak& a, const leak& b) { return a.size > b.size; });
  return all;
}

std::string report_of(c10::DeviceIndex device, const std::vector<leak>& leaks) {
  size_t bytes = 0;
  for (const leak& each : leaks) bytes += each.size;
  std::string text =
      core::format("{0}: {1} in {2} allocation{3} on {0}:{4} {5} never freed\n", backend_name(),
                   readable_size(bytes), leaks.size(), leaks.size() == 1 ? "" : "s",
                   static_cast<int>(device), leaks.size() == 1 ? "was" : "were");
  for (size_t i = 0; i < std::min(leaks.size(), most_listed); ++i) {
    text += core::format("  {:#x}: {} bytes, stream {}\n", leaks[i].address, leaks[i].size,
                         leaks[i].stream);
  }
  if (leaks.size() > most_listed) {
    text += core::format("  and {} smaller ones\n", leaks.size() - most_listed);
  }
  return text;
}

// std::atexit calls it after the interpreter has ended, so what Python held is gone.
void report_all() {
  // In a forked child the memory is the parent's, and a mutex may be locked for ever.
  if (is_in_bad_fork()) return;
  try {
    for (c10::DeviceIndex device = 0; device < device_count(); ++device) {
      device_cache* const cache = cache_if_used(device);
      if (cache == nullptr) continue;
      const std::vector<leak> leaks = leaks_of(*cache);
      if (!leaks.empty()) std::fputs(report_of(device, leaks).c_str(), stderr);
    }
  } catch (const std::exception& e) {
    std::fputs(e.what(), stderr);
  }
}

}  // namespace

void read_leak_report() {
  is_wanted.store(from_environment([] {
                    return outback::detail::flag_variable("OUTBACK_REPORT_LEAKS").value_or(false);
                  }),
                  std::memory_order_relaxed);
}

void report_leaks_at_exit() {
  if (!is_wanted.load(std::memory_order_relaxed)) return;
  // If std::atexit fails there is no report, which is no reason to fail an allocation.
  static const bool asked = std::atexit(&report_all) == 0;
  static_cast<void>(asked);
}

}  // namespace outback::core
