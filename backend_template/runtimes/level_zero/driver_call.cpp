#include "backend_template/runtimes/level_zero/driver_call.hpp"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "backend_template/runtimes/fork_count.hpp"

namespace outback::level_zero {
namespace {

// Sequentially consistent: of a call that begins and an exit, one sees the other.
std::atomic<int> calls_under_way{0};
std::atomic<bool> process_ends{false};
uint32_t forks_at_registration = 0;

// A driver that does not come back from a short wait is not waited for either.
constexpr int most_pieces = 200;

void end_driver_calls() {
  process_ends = true;
  if (fork_count() != forks_at_registration) return;  // those threads are the parent's
  for (int i = 0; i < most_pieces && calls_under_way != 0; ++i) {
    std::this_thread::sleep_for(std::chrono::nanoseconds(longest_wait_ns));
  }
}

}  // namespace

driver_call::driver_call() noexcept {
  ++calls_under_way;
  admitted_ = !process_ends;
}

driver_call::~driver_call() {
  --calls_under_way;
}

void await_driver_calls_at_exit() {
  // No handler (out of memory) means that an exit with callbacks in the queue may crash: not worth
  // an abort.
  [[maybe_unused]] static const int registered = [] {
    forks_at_registration = fork_count();
    return std::atexit(end_driver_calls);
  }();
}

}  // namespace outback::level_zero
