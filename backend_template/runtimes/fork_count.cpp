#include "backend_template/runtimes/fork_count.hpp"

#include <pthread.h>

#include <atomic>

namespace outback {
namespace {
std::atomic<uint32_t> forks{0};
}

uint32_t fork_count() noexcept {
  // pthread_atfork fails only when memory is short. The count then stays 0 in a child, so the child
  // gets the driver's own error, or hangs, instead of our exception. That is not worth an abort
  // here.
  [[maybe_unused]] static const int registered =
      pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
  return forks.load(std::memory_order_relaxed);
}

}  // namespace outback
