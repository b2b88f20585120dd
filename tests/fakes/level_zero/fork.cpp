#include "tests/fakes/level_zero/fork.hpp"

#include <pthread.h>

#include <atomic>
#include <mutex>

namespace outback::software_ze {
namespace {

std::atomic<bool> forked{false};

}  // namespace

void watch_forks() {
  static std::once_flag once;
  std::call_once(once, [] {
    pthread_atfork(nullptr, nullptr, [] { forked.store(true, std::memory_order_relaxed); });
  });
}

bool forked_since_init() noexcept {
  return forked.load(std::memory_order_relaxed);
}

}  // namespace outback::software_ze
