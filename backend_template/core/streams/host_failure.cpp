#include "backend_template/core/streams/host_failure.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <mutex>
#include <new>
#include <utility>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/runtime/runtime.h"

namespace outback::core {
namespace {

struct failures {
  std::mutex mutex;
  std::array<std::string, max_devices> of;
};

// The failures are never destroyed, since callbacks may run while the process ends. They are made
// in place, so that nothing is allocated for them where memory has run out.
failures& reported() noexcept {
  alignas(failures) static std::array<std::byte, sizeof(failures)> room;
  static failures& all = *new (room.data()) failures;
  return all;
}

}  // namespace

namespace detail {

std::atomic<bool> any_host_failure{false};

void throw_host_failure(c10::DeviceIndex device) {
  std::string what;
  {
    const std::lock_guard<std::mutex> lock(reported().mutex);
    what = std::exchange(reported().of[device], {});
    const bool more = std::any_of(reported().of.begin(), reported().of.end(),
                                  [](const std::string& text) { return !text.empty(); });
    // The flag is for all devices, so it stays while another device has a failure.
    any_host_failure.store(more, std::memory_order_release);
  }
  TORCH_CHECK(what.empty(), backend_name(), ": ", what);
}

}  // namespace detail

void report_host_failure(c10::DeviceIndex device, std::string what) noexcept {
  const std::lock_guard<std::mutex> lock(reported().mutex);
  std::string& kept = reported().of[device];
  if (kept.empty()) kept.swap(what);  // cannot throw, as a copy could
  detail::any_host_failure.store(true, std::memory_order_release);
}

}  // namespace outback::core
