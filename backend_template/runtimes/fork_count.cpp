#include "backend_template/runtimes/fork_count.hpp"

#include <pthread.h>

#include <atomic>

namespace outback {
namespace {
std::atomic<uint32_t> forks{0};
}

uint32_t fork_count() noexcept {
  // No handler (out of memory) means that a child gets the driver's own error, or hangs, where it
  // would have thrown: not worth an abort.
  [[maybe_unused]] static const int registered =
      pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
  return forks.load(std::memory_order_relaxed);
}

}  // namespace outback
