#include "backend_template/core/allocator/out_of_memory.h"

#include <c10/util/Exception.h>
#include <fmt/format.h>

#include "backend_template/core/device.h"
#include "backend_template/core/device_allocator.h"
#include "backend_template/core/runtime.h"

namespace outback::core {

std::string readable_size(size_t bytes) {
  if (bytes < 1024) return fmt::format("{} bytes", bytes);
  double size = static_cast<double>(bytes);
  const char* unit = "";
  for (const char* next : {"KiB", "MiB", "GiB", "TiB"}) {
    if (size < 1024.0) break;
    size /= 1024.0;
    unit = next;
  }
  return fmt::format("{:.2f} {}", size, unit);
}

void throw_out_of_memory(c10::DeviceIndex device, size_t requested, const device_cache& cache,
                         const std::string& reason) {
  const auto [free, total] = device_allocator().getMemoryInfo(device);
  c10::reportOutOfMemoryToProfiler(static_cast<int64_t>(requested), cache.allocated(),
                                   cache.reserved(), c10::Device(device_type, device));
  const std::string text = fmt::format(
      "{0}: out of memory: tried to allocate {1} on {0}:{2}, which has {3} in total, of which {4} "
      "are free. "
      "This process's tensors hold {5}, and its cache was emptied before giving up.{6}{7}",
      backend_name(), readable_size(requested), static_cast<int>(device), readable_size(total),
      readable_size(free), readable_size(cache.allocated()),
      reason.empty() ? "" : " The runtime says: ", reason);
  TORCH_CHECK_WITH(OutOfMemoryError, false, text);
}

}  // namespace outback::core
