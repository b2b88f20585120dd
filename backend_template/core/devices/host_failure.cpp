#include "backend_template/core/devices/host_failure.h"

#include <c10/util/Exception.h>
#include <c10/util/StringUtil.h>

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
  outback_status status = OUTBACK_OK;
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
  outback_status status = OUTBACK_OK;
  {
    failure& kept = reported(device);
    const std::lock_guard<std::mutex> lock(kept.mutex);
    event = kept.event;
    what = std::exchange(kept.what, {});
    status = kept.status;
    has_host_failure[static_cast<size_t>(device)].store(false, std::memory_order_release);
  }
  if (!what.empty() && status != OUTBACK_OK) {
    throw c10::AcceleratorError({__func__, __FILE__, static_cast<uint32_t>(__LINE__)}, status,
                                c10::str(backend_name(), ": ", event, ": ", what));
  }
  TORCH_CHECK(what.empty(), backend_name(), ": ", event, ": ", what);
}

}  // namespace detail

void report_host_failure(c10::DeviceIndex device, const char* event, std::string what,
                         outback_status status) noexcept {
  failure& kept = reported(device);
  const std::lock_guard<std::mutex> lock(kept.mutex);
  if (kept.what.empty()) {
    kept.event = event;
    kept.status = status;
    kept.what.swap(what);  // cannot throw, as a copy could
  }
  detail::has_host_failure[static_cast<size_t>(device)].store(true, std::memory_order_release);
}

void report_handled(c10::DeviceIndex device, const char* event) noexcept {
  outback_status status = OUTBACK_OK;
  try {
    throw;
  } catch (const c10::AcceleratorError& error) {
    status = error.get_error_code();
  } catch (...) {  // NOLINT(bugprone-empty-catch)
  }
  report_host_failure(device, event, handled_text(), status);
}

bool keep_failure(outback_status status, const char* slot, c10::DeviceIndex device) noexcept {
  if (status == OUTBACK_OK || status == OUTBACK_NOT_READY) return status == OUTBACK_OK;
  try {
    fail(status, slot, device, none);
  } catch (...) {
    report_handled(device, "work has failed");
  }
  return false;
}

}  // namespace outback::core
