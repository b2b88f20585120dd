// Counts the threads that have memory on its way back: taken out of where others would find it, and
// not yet in the cache or given back to the runtime. A thread that runs out of memory waits for
// them before it fails; without that it could fail while another thread holds what it needs.
#pragma once

#include <atomic>

#include "backend_template/core/runtime/interpreter_lock.h"

namespace outback::core {

/// The count of one device. Thread-safe.
class memory_in_transit {
 public:
  /// Counts the calling thread while the object lives: make it before memory is taken out, and let
  /// it end when others can have the memory again. Meanwhile the thread may wait for the cache's
  /// locks, for the device and for the interpreter's lock, but for no other lock and for no other
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

  /// Returns when the count has been 0 at some moment since the call.
  void wait() const noexcept {
    if (count_.load(std::memory_order_acquire) == 0) return;
    const without_interpreter_lock unlocked;  // which those may wait for
    for (int left = 0; (left = count_.load(std::memory_order_acquire)) != 0;) {
      count_.wait(left, std::memory_order_acquire);
    }
  }

 private:
  std::atomic<int> count_{0};
};

}  // namespace outback::core
