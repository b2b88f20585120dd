#include "backend_template/core/memory/allocator/out_of_memory.h"

#include <c10/util/Exception.h>

#include <mutex>
#include <utility>
#include <vector>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/memory/allocator/memory_limit.h"
#include "backend_template/core/memory/device_allocator.h"
#include "backend_template/core/runtime/format.h"
#include "backend_template/core/runtime/runtime.h"

namespace outback::core {
namespace {

struct observer_list {
  std::mutex mutex;
  std::vector<out_of_memory_observer> all;
};

observer_list& observers() {
  // Never destroyed: memory may be allocated while the process ends.
  static auto& list = *new observer_list;
  return list;
}

void tell_observers(c10::DeviceIndex device, size_t requested, size_t total, size_t free) {
  // A copy, so that an observer may attach another one, and none runs under the lock.
  std::vector<out_of_memory_observer> all;
  {
    std::lock_guard<std::mutex> lock(observers().mutex);
    all = observers().all;
  }
  for (const auto& observer : all) observer(device, requested, total, free);
}

// Returns the sentence about the limit that the user has set, or "".
std::string limit_text(c10::DeviceIndex device) {
  const double fraction = memory_fraction(device);
  if (fraction >= 1) return "";
  return core::format(" This process may use {} of it, by set_per_process_memory_fraction({:g}).",
                      readable_size(memory_limit(device)), fraction);
}

std::string text_of(cache_fate fate, c10::DeviceIndex device) {
  switch (fate) {
    case cache_fate::emptied:
      return "was emptied before giving up";
    case cache_fate::kept_for_capture:
      return "was not emptied, since a graph is captured on this device";
    case cache_fate::kept_as_useless:
      return "was not emptied, since more was asked for than the whole device has";
    case cache_fate::kept_as_refused:
      return core::format(
          "was not emptied, since more was asked for than one allocation of this device may have "
          "({})",
          readable_size(device_info(device).max_alloc_size));
  }
  return "";
}

}  // namespace

void attach_out_of_memory_observer(out_of_memory_observer observer) {
  std::lock_guard<std::mutex> lock(observers().mutex);
  observers().all.push_back(std::move(observer));
}

std::string readable_size(size_t bytes) {
  if (bytes < 1024) return core::format("{} bytes", bytes);
  double size = static_cast<double>(bytes);
  // Stops at TiB: larger sizes are more than 1024 of them.
  const char* unit = "";
  for (const char* next : {"KiB", "MiB", "GiB", "TiB"}) {
    if (size < 1024.0) break;
    size /= 1024.0;
    unit = next;
  }
  return core::format("{:.2f} {}", size, unit);
}

void throw_out_of_memory(c10::DeviceIndex device, size_t requested, c10::StreamId stream,
                         device_cache& cache, cache_fate fate, const std::string& reason) {
  // Asked of the runtime before the observers run, and the same numbers for all who are told.
  const auto [free, total] = device_allocator().getMemoryInfo(device);
  cache.count_out_of_memory(requested, free, stream,
                            gather_context(c10::CachingDeviceAllocator::RecordContext::ALLOC));
  c10::reportOutOfMemoryToProfiler(static_cast<int64_t>(requested), cache.allocated(),
                                   cache.taken(), c10::Device(device_type, device));
  tell_observers(device, requested, total, free);
  // Read once more, after the observers: they may have freed memory.
  const size_t held = cache.allocated();
  const size_t reserved = cache.taken();
  // docs/errors.md shows this text.
  const std::string text = core::format(
      "{0}: out of memory. Tried to allocate {1} on {0}:{2}, which has {3} in total, of which {4} "
      "are free.{5} This process's tensors hold {6}, and its cache {7}: it still holds {8} that "
      "nobody uses, in parts of at most {9}.{10}{11}",
      backend_name(), readable_size(requested), static_cast<int>(device), readable_size(total),
      readable_size(free), limit_text(device), readable_size(held), text_of(fate, device),
      readable_size(reserved > held ? reserved - held : 0), readable_size(cache.largest_free()),
      reason.empty() ? "" : " The runtime says: ", reason);
  TORCH_CHECK_WITH(OutOfMemoryError, false, text);
}

}  // namespace outback::core
