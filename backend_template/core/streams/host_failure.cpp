#include "backend_template/core/streams/host_failure.h"

#include <c10/util/Exception.h>

#include <mutex>
#include <new>
#include <utility>

#include "backend_template/core/runtime/runtime.h"

namespace outback::core {
namespace {

struct failure {
  std::mutex mutex;
  const char* event = "";
  std::string what;
};

// The failures are never destroyed, since callbacks may run while the process ends. They are made
// in place, so that nothing is allocated for them where memory has run out.
failure& reported(c10::DeviceIndex device) noexcept {
  using failures = std::array<failure, max_devices>;
  alignas(failures) static std::array<std::byte, sizeof(failures)> room;
  static failures& all = *new (room.data()) failures;
  return all[static_cast<size_t>(device)];
}

}  // namespace

namespace detail {

void throw_host_failure(c10::DeviceIndex device) {
  const char* event = nullptr;
  std::string what;
  {
    failure& kept = reported(device);
    const std::lock_guard<std::mutex> lock(kept.mutex);
    event = kept.event;
    what = std::exchange(kept.what, {});
    has_host_failure[static_cast<size_t>(device)].store(false, std::memory_order_release);
  }
  TORCH_CHECK(what.empty(), backend_name(), ": ", event, ": ", what);
}

}  // namespace detail

void report_host_failure(c10::DeviceIndex device, const char* event, std::string what) noexcept {
  failure& kept = reported(device);
  const std::lock_guard<std::mutex> lock(kept.mutex);
  if (kept.what.empty()) {
    kept.event = event;
    kept.what.swap(what);  // cannot throw, as a copy could
  }
  detail::has_host_failure[static_cast<size_t>(device)].store(true, std::memory_order_release);
}

}  // namespace outback::core
