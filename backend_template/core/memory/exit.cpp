#include "backend_template/core/memory/exit.h"

#include <ATen/core/CachingHostAllocator.h>
#include <c10/util/Exception.h>

#include <chrono>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "backend_template/core/captures/capture.h"
#include "backend_template/core/devices/device.h"
#include "backend_template/core/devices/lazy_start.h"
#include "backend_template/core/memory/allocator/caches.h"
#include "backend_template/core/memory/device_allocator.h"
#include "backend_template/core/memory/host_allocator.h"
#include "backend_template/core/streams/kernel_faults.h"
#include "backend_template/core/streams/stream.h"
#include "outback/layers.hpp"

namespace outback::core {
namespace {

// Runs `step` and ignores what it throws: a lost device, or a driver that is gone, has nothing to
// give back, and at exit nobody handles the error.
template <class Step>
void try_to(Step&& step) noexcept {
  try {
    step();
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch)
  }
}

// Waits until the device's streams are done, but not for ever: a callback may need a thread that
// has ended already. It polls, since the runtime's own wait has no limit. Returns false after five
// seconds.
bool finishes(c10::DeviceIndex device) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (!query_device(device)) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

// Leaked, since threads may add to it until the process ends.
struct others {
  std::mutex mutex;
  std::vector<void (*)() noexcept> all;
};
others& others_to_give_back() {
  static auto& kept = *new others;
  return kept;
}

void give_back() {
  // False in a forked child, which owns nothing.
  if (!is_started()) return;
  bool all_finish = true;
  for (c10::DeviceIndex device = 0; device < device_count(); ++device) {
    if (any_capture(device)) return;
    if (cache_if_used(device) == nullptr) continue;
    try_to([&] { all_finish = finishes(device) && all_finish; });
  }
  if (!all_finish) return;
  try_to([] { device_allocator().emptyCache({0, 0}); });
  try_to([] { host_allocator().empty_cache(); });
  give_back_fault_words();
  std::vector<void (*)() noexcept> all;
  {
    const std::lock_guard lock(others_to_give_back().mutex);
    all = others_to_give_back().all;
  }
  for (const auto each : all) each();
}

}  // namespace

void give_back_at_exit(void (*give_back)() noexcept) {
  const std::lock_guard lock(others_to_give_back().mutex);
  others_to_give_back().all.push_back(give_back);
}

void give_back_caches_at_exit() {
  if (!layers::tells_leaks_at_exit()) return;
  static const int handler = std::atexit(&give_back);
  TORCH_CHECK(handler == 0, "atexit failed with code ", handler);
}

}  // namespace outback::core
