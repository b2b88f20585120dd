#include "backend_template/core/memory/allocator/caches.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/memory/allocator/leak_report.h"
#include "backend_template/core/memory/exit.h"

namespace outback::core {
namespace {

// The settings that new caches start with. The mutex is held while a cache is made and while the
// settings change, so that no new cache misses a change. Never destroyed.
struct history_defaults {
  std::mutex mutex;
  history_settings settings;
  std::string metadata;
};

history_defaults& defaults() {
  static auto& all = *new history_defaults;
  return all;
}

}  // namespace

namespace detail {

device_cache& make_cache(c10::DeviceIndex device) {
  // Before the lock is taken: the first call of device_info starts the driver.
  const size_t granule = std::max<size_t>(smallest_block, device_info(device).alignment);
  std::lock_guard<std::mutex> lock(defaults().mutex);
  auto& slot = caches[static_cast<size_t>(device)];
  if (device_cache* const there = slot.load(std::memory_order_acquire)) return *there;
  auto made = std::make_unique<device_cache>(device, granule);
  made->configure_history(defaults().settings);
  made->set_metadata(defaults().metadata);
  // After the driver's start, so that both run before the driver's own functions at exit, which run
  // in the reverse order. The report comes first then.
  give_back_caches_at_exit();
  report_leaks_at_exit();
  device_cache* const cache = made.release();
  slot.store(cache, std::memory_order_release);
  return *cache;
}

}  // namespace detail

void record_history(const history_settings& settings) {
  std::lock_guard<std::mutex> lock(defaults().mutex);
  defaults().settings = settings;
  for (auto& slot : detail::caches) {
    if (device_cache* const cache = slot.load(std::memory_order_acquire)) {
      cache->configure_history(settings);
    }
  }
  // Last: stacks are gathered only once all caches keep them.
  configure_contexts(settings);
}

void set_history_metadata(const std::string& text) {
  std::lock_guard<std::mutex> lock(defaults().mutex);
  defaults().metadata = text;
  for (auto& slot : detail::caches) {
    if (device_cache* const cache = slot.load(std::memory_order_acquire)) cache->set_metadata(text);
  }
}

std::string history_metadata() {
  std::lock_guard<std::mutex> lock(defaults().mutex);
  return defaults().metadata;
}

}  // namespace outback::core
