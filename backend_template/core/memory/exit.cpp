#include "backend_template/core/memory/exit.h"

#include <c10/util/Exception.h>

#include <chrono>
#include <cstdlib>
#include <exception>
#include <thread>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/devices/lazy_start.h"
#include "backend_template/core/graphs/capture.h"
#include "backend_template/core/memory/allocator/caches.h"
#include "backend_template/core/memory/device_allocator.h"
#include "backend_template/core/memory/host_allocator.h"
#include "backend_template/core/streams/stream.h"
#include "outback/layers.hpp"

namespace outback::core {
namespace {

// A device that is lost, or a driver that is gone: nobody is left to tell, and what it had is gone.
template <class Step>
void try_to(Step&& step) noexcept {
  try {
    step();
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch)
  }
}

// Not for ever: a thread of the runtime that a callback needs may have ended before.
bool finishes(c10::DeviceIndex device) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (!query_device(device)) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

void give_back() {
  if (!is_started()) return;  // a forked child has not started, and owns nothing
  bool all_finish = true;
  for (c10::DeviceIndex device = 0; device < device_count(); ++device) {
    if (any_capture(device)) return;
    if (cache_if_used(device) == nullptr) continue;
    try_to([&] { all_finish = finishes(device) && all_finish; });
  }
  if (!all_finish) return;
  try_to([] { device_allocator().emptyCache({0, 0}); });
  try_to([] { host_allocator().empty_cache(); });
}

}  // namespace

void give_back_caches_at_exit() {
  if (!layers::tells_leaks_at_exit()) return;
  static const int handler = std::atexit(&give_back);
  TORCH_CHECK(handler == 0, "atexit failed with code ", handler);
}

}  // namespace outback::core
