#include "tests/fakes/level_zero/signal.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

namespace outback::software_ze {
namespace {

// Not FUTEX_PRIVATE: the word may be another process's too.
void futex(std::atomic<uint32_t>& word, int operation, uint32_t value, const timespec* timeout) {
  ::syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), operation, value, timeout, nullptr, 0);
}

}  // namespace

void signal_state::signal() noexcept {
  // Sequentially consistent, as is the waiter's count: one of the two sees the other.
  signalled.store(1);
  if (waiting.load() != 0) futex(signalled, FUTEX_WAKE, INT_MAX, nullptr);
}

void signal_state::wait_until(std::chrono::steady_clock::time_point until) noexcept {
  const auto rest = until - std::chrono::steady_clock::now();
  if (rest <= rest.zero()) return;
  const auto nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(rest).count();
  const timespec timeout{static_cast<time_t>(nanoseconds / 1'000'000'000),
                         static_cast<long>(nanoseconds % 1'000'000'000)};
  waiting.fetch_add(1);
  if (signalled.load() == 0) futex(signalled, FUTEX_WAIT, 0, &timeout);
  waiting.fetch_sub(1);
}

}  // namespace outback::software_ze
