// Counts the threads that hold memory on its way back: such a thread has taken memory out of the
// lists in which others look for it, and has not yet put it into the cache or given it back to the
// runtime. A thread that runs out of memory waits for these threads before it fails, since one of
// them may hold the memory that it needs.
#pragma once

#include <atomic>

#include "backend_template/core/runtime/interpreter_lock.h"

namespace outback::core {

/// The count of one device. Thread-safe.
class memory_in_transit {
 public:
  /// Counts the calling thread while the object lives. Construct it before you take memory out, and
  /// destroy it when other threads can get the memory again. Meanwhile the thread may wait for the
  /// cache's locks, the device and the interpreter's lock, but not for any other lock or another
  /// transit.
  class one {
   public:
    explicit one(memory_in_transit& all) noexcept : all_(all) {
      all_.count_.fetch_add(1, std::memory_order_relaxed);
    }
    one(const one&) = delete;
    one& operator=(const one&) = delete;
    ~one() {
      if (all_.count_.fetch_sub(1, std::memory_order_release) == 1) all_.count_.notify_all();
    }

   private:
    memory_in_transit& all_;
  };

  /// Waits until the count is 0. It may rise again before this function returns.
  void wait() const noexcept {
    if (count_.load(std::memory_order_acquire) == 0) return;
    const without_interpreter_lock unlocked;  // the counted threads may wait for it
    for (int left = 0; (left = count_.load(std::memory_order_acquire)) != 0;) {
      count_.wait(left, std::memory_order_acquire);
    }
  }

 private:
  std::atomic<int> count_{0};
};

}  // namespace outback::core
