#include "backend_template/runtimes/host/fork_count.hpp"

#include <pthread.h>

#include <atomic>

#include "outback/runtime_error.hpp"

namespace outback::host {
namespace {
std::atomic<uint32_t> forks{0};
}

uint32_t fork_count() noexcept {
  // No handler (out of memory) means that a child waits for ever where it would have thrown: not
  // worth an abort.
  [[maybe_unused]] static const int registered =
      pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
  return forks.load(std::memory_order_relaxed);
}

void check_not_forked(uint32_t then) {
  if (fork_count() == then) return;
  throw runtime_error(
      OUTBACK_INTERNAL,
      "this process was forked after the device had started work in the background; use the "
      "device first in the child, or start the child without fork (\"spawn\")");
}

}  // namespace outback::host
