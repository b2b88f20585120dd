#include "backend_template/runtimes/host/busy_clock.hpp"

#include <pthread.h>

#include <algorithm>

namespace outback::host {
namespace {

// Returns 0 if the clock cannot be read. In a forked child that is so for the clocks of its
// parent's threads, which do not exist there.
std::chrono::nanoseconds time_on(clockid_t clock) {
  timespec now = {};
  if (clock_gettime(clock, &now) != 0) return std::chrono::nanoseconds(0);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

clockid_t own_clock() {
  clockid_t clock = 0;
  pthread_getcpuclockid(pthread_self(), &clock);
  return clock;
}

}  // namespace

busy_clock::counted_thread::counted_thread(busy_clock& clock) noexcept : clock_(clock) {
  const std::lock_guard lock(clock_.mutex_);
  clock_.running_.push_back(own_clock());
}

busy_clock::counted_thread::~counted_thread() {
  const clockid_t own = own_clock();
  const std::lock_guard lock(clock_.mutex_);
  // The thread adds its time itself, because nobody can read its clock once it is gone.
  clock_.ended_ += time_on(own);
  std::erase(clock_.running_, own);
}

int64_t busy_clock::percent() {
  const std::lock_guard lock(mutex_);
  const auto now = std::chrono::steady_clock::now();
  const std::chrono::nanoseconds wall = now - last_read_;
  // A shorter interval would mostly measure the resolution of the clocks.
  if (wall < std::chrono::milliseconds(1)) return last_percent_;
  const std::chrono::nanoseconds sum = total_locked();
  last_percent_ = std::clamp<int64_t>((sum - last_total_) * 100 / wall, 0, 100);
  last_read_ = now;
  last_total_ = sum;
  return last_percent_;
}

std::chrono::nanoseconds busy_clock::total() const {
  const std::lock_guard lock(mutex_);
  return total_locked();
}

std::chrono::nanoseconds busy_clock::total_locked() const {
  std::chrono::nanoseconds sum = ended_;
  for (const clockid_t clock : running_) sum += time_on(clock);
  return sum;
}

}  // namespace outback::host
