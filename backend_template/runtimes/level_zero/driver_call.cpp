#include "backend_template/runtimes/level_zero/driver_call.hpp"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "backend_template/runtimes/fork_count.hpp"

namespace outback::level_zero {
namespace {

// Both are sequentially consistent: when a call begins while the process ends, at least one of the
// two sees the other.
std::atomic<int> calls_under_way{0};
std::atomic<bool> process_ends{false};
uint32_t forks_at_registration = 0;

// At most 2 seconds in all. A driver that does not return from a short wait by then is not waited
// for.
constexpr int most_pieces = 200;

void end_driver_calls() {
  process_ends = true;
  if (fork_count() != forks_at_registration) return;  // the calls are those of the parent's threads
  for (int i = 0; i < most_pieces && calls_under_way != 0; ++i) {
    std::this_thread::sleep_for(std::chrono::nanoseconds(longest_wait_ns));
  }
}

}  // namespace

driver_call::driver_call() noexcept {
  // In this order: a call that is admitted was counted before the exit looked at the count.
  ++calls_under_way;
  admitted_ = !process_ends;
}

driver_call::~driver_call() {
  --calls_under_way;
}

void await_driver_calls_at_exit() {
  // atexit fails only when memory is short. Then an exit with callbacks in the queue may crash,
  // which is not worth an abort here.
  [[maybe_unused]] static const int registered = [] {
    forks_at_registration = fork_count();
    return std::atexit(end_driver_calls);
  }();
}

}  // namespace outback::level_zero
