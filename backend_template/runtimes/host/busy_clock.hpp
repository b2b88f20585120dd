// Measures how busy the threads of a device are, for OUTBACK_METRIC_UTILIZATION.
#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>
#include <mutex>
#include <vector>

namespace outback::host {

/// Sums the processor time of threads that come and go. The threads themselves pay nothing for it,
/// because the system counts their time anyway; only reading the sum costs. May be used from any
/// thread.
class busy_clock {
 public:
  /// Counts the processor time of the thread that made the object, as long as the object lives. The
  /// same thread must make and destroy the object; `clock` must outlive the object.
  class counted_thread {
   public:
    explicit counted_thread(busy_clock& clock) noexcept;
    ~counted_thread();
    counted_thread(const counted_thread&) = delete;
    counted_thread& operator=(const counted_thread&) = delete;

   private:
    busy_clock& clock_;
  };

  /// Returns the total processor time of all threads that were ever counted.
  std::chrono::nanoseconds total() const;

  /// Returns the processor time since the last call in percent of the time that passed, from 0 to
  /// 100; the first call counts from the construction of the clock. A waiting thread counts as
  /// idle. Several busy threads still give 100. Calls within a millisecond return the same value,
  /// since shorter intervals mean nothing.
  int64_t percent();

 private:
  std::chrono::nanoseconds total_locked() const;  // the caller holds mutex_

  mutable std::mutex mutex_;
  // The clocks of the living threads, and the total time of the threads that have ended.
  std::vector<clockid_t> running_;
  std::chrono::nanoseconds ended_{0};
  // The measurement of the last `percent`.
  std::chrono::steady_clock::time_point last_read_ = std::chrono::steady_clock::now();
  std::chrono::nanoseconds last_total_{0};
  int64_t last_percent_ = 0;
};

}  // namespace outback::host
