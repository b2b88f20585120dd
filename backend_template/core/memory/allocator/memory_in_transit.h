// Memory that a thread has taken out of where others would find it, and is about to put where they
// will, or to give back. Who runs out of memory waits for it before saying so.
#pragma once

#include <atomic>

namespace outback::core {

/// Of one device. Thread-safe.
class memory_in_transit {
 public:
  /// From before the memory is taken out until it can be had again. Whoever holds one waits for no
  /// lock but the cache's, and not for other transits.
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

  /// Returns when there was a moment without any.
  void wait() const noexcept {
    for (int left = 0; (left = count_.load(std::memory_order_acquire)) != 0;) {
      count_.wait(left, std::memory_order_acquire);
    }
  }

 private:
  std::atomic<int> count_{0};
};

}  // namespace outback::core
