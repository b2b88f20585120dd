#include "backend_template/runtimes/level_zero/fork_flag.hpp"

#include <pthread.h>

#include <atomic>

#include "outback/runtime_error.hpp"

namespace outback::level_zero {
namespace {
std::atomic<bool> in_forked_child{false};
}

void watch_forks() {
  // No handler (out of memory) means that a child hangs where it would have thrown: not worth an
  // abort.
  [[maybe_unused]] static const int registered = pthread_atfork(
      nullptr, nullptr, [] { in_forked_child.store(true, std::memory_order_relaxed); });
}

bool forked() noexcept {
  return in_forked_child.load(std::memory_order_relaxed);
}

void check_not_forked() {
  if (!forked()) [[likely]]
    return;
  throw runtime_error(OUTBACK_INTERNAL,
                      "this process was forked after Level Zero had been initialised, which the "
                      "driver does not survive: start the child without fork (\"spawn\" or "
                      "\"forkserver\")");
}

}  // namespace outback::level_zero
