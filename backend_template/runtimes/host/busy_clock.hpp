// How busy the threads of a device are.
#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>
#include <mutex>
#include <vector>

namespace outback::host {

/// Sums the processor time of threads that come and go. Only who reads it pays for that: the system
/// counts anyway. May be used from any thread.
class busy_clock {
 public:
  /// While it lives, the time of the thread that made it counts.
  class thread {
   public:
    explicit thread(busy_clock& clock) noexcept;
    ~thread();
    thread(const thread&) = delete;
    thread& operator=(const thread&) = delete;

   private:
    busy_clock& clock_;
  };

  /// Of all threads so far.
  std::chrono::nanoseconds total() const;

  /// Percent of the time since the last call, or since the clock was made, 100 for one thread that
  /// never rested and for more. What a thread waits does not count. Calls within a millisecond get
  /// the same answer.
  int64_t percent();

 private:
  std::chrono::nanoseconds total_locked() const;  // mutex_ is held

  mutable std::mutex mutex_;
  std::vector<clockid_t> running_;
  std::chrono::nanoseconds ended_{0};  // of threads that are gone
  std::chrono::steady_clock::time_point last_read_ = std::chrono::steady_clock::now();
  std::chrono::nanoseconds last_total_{0};
  int64_t last_percent_ = 0;
};

}  // namespace outback::host
