#include "backend_template/core/devices/lazy_start.h"

#include <c10/util/Exception.h>
#include <c10/util/ScopeExit.h>
#include <pthread.h>

#include <mutex>
#include <new>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/devices/dtypes.h"
#include "backend_template/core/devices/visible_devices.h"
#include "backend_template/core/runtime/runtime.h"

namespace outback::core {
namespace detail {
namespace {

std::mutex& start_mutex() {
  // Never destroyed: the first use of the device may come from a static destructor.
  static auto& mutex = *new std::mutex;
  return mutex;
}

// Runs in the child, which has this thread alone. A process that forks before the start may start
// in the child. Half a start is none: another thread of the parent was at it, and is not here.
void mark_forked() noexcept {
  is_new_child.store(true, std::memory_order_relaxed);
  if (start_state_now.load(std::memory_order_relaxed) == start_state::not_started) {
    new (&start_mutex()) std::mutex;  // that thread may have taken it, and done nothing yet
  } else {
    start_state_now.store(start_state::forked, std::memory_order_relaxed);
  }
}

void refuse_forked() {
  TORCH_CHECK(start_state_now.load(std::memory_order_acquire) != start_state::forked,
              "Cannot re-initialize ", backend_name(), " in forked subprocess. To use ",
              backend_name(), " with multiprocessing, you must use the 'spawn' start method");
}

// Calls device_info, which makes a runtime start its driver, and tells which dtypes the device has.
// A runtime may count its devices without the driver, and find out now that there are others, or
// none. The status is ignored: if device 0 alone is broken, only those who use it should get that
// error.
void start_driver() {
  outback_device_info info = {};
  info.struct_size = sizeof(info);
  static_cast<void>(runtime().device_info(runtime().self, 0, &info));
  set_dtypes_of_device(info.flags);
}

void start_once() {
  std::lock_guard<std::mutex> lock(start_mutex());
  if (start_state_now.load(std::memory_order_acquire) == start_state::started) return;
  start_state_now.store(start_state::starting, std::memory_order_relaxed);
  auto reached = start_state::not_started;
  const auto leave = c10::make_scope_exit(
      [&reached] { start_state_now.store(reached, std::memory_order_release); });
  if (read_count() > 0) {
    start_driver();
    // Forget the number, so that the runtime is asked again now that the driver is there.
    count_now.store(-1, std::memory_order_relaxed);
  }
  TORCH_CHECK(read_count() > 0, "no ", backend_name(), " device is available",
              visible_devices_text());
  reached = start_state::started;
}

}  // namespace

void start_slowly() {
  // Has to come before the lock: another thread of the parent may have held it at the fork, and in
  // the child nobody releases it.
  refuse_forked();
  start_once();
  // If the driver refuses that device, the backend has started all the same: the other devices may
  // be used.
  select_owed_device();
}

}  // namespace detail

void watch_forks() {
  const int failed = pthread_atfork(nullptr, nullptr, &detail::mark_forked);
  TORCH_CHECK(failed == 0, "pthread_atfork failed with code ", failed);
}

}  // namespace outback::core
