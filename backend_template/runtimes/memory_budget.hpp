// Counts the device memory that this process uses, and limits it.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "outback/runtime_error.hpp"

namespace outback {

/// A count of bytes with a limit. May be used from any thread; takes no lock.
class memory_budget {
 public:
  /// Counts `size` more bytes of device number `device` as used. Throws outback::out_of_memory, and
  /// counts nothing, if the sum would exceed `limit`.
  void take(uint64_t size, uint64_t limit, int32_t device) {
    uint64_t used = this->used();
    do {
      if (used > limit || size > limit - used) refuse(size, limit, used, device);
    } while (!used_.compare_exchange_weak(used, used + size, std::memory_order_relaxed));
  }
  void give_back(uint64_t size) noexcept { used_.fetch_sub(size, std::memory_order_relaxed); }
  uint64_t used() const noexcept { return used_.load(std::memory_order_relaxed); }

 private:
  [[noreturn]] static void refuse(uint64_t size, uint64_t limit, uint64_t used, int32_t device) {
    throw out_of_memory("device " + std::to_string(device) + " was asked for " +
                        std::to_string(size) + " bytes, and this process has " +
                        std::to_string(limit > used ? limit - used : 0) + " free of " +
                        std::to_string(limit));
  }

  std::atomic<uint64_t> used_{0};
};

}  // namespace outback
