// The locks of a device_cache, taken in the order that device_cache.h sets. Only device_cache.cpp
// includes this header.
#pragma once

#include <mutex>

#include "backend_template/core/memory/allocator/device_cache.h"

namespace outback::core {

/// Holds one stream's mutex, and the device's too if `device_too` is true or while the history is
/// recorded. When the stream has overdrawn its credit for the peaks (peak_escrow.h), the destructor
/// settles that after it has released both.
class device_cache::stream_lock {
 public:
  stream_lock(device_cache& whole, stream_cache& part, bool device_too = false)
      : whole_(whole), part_(part), device_(whole.mutex_, std::defer_lock) {
    if (device_too) device_.lock();
    part.mutex.lock();
    // `enabled` changes only while all locks are held, so it can be read now. If the device's mutex
    // is needed, the stream's has to be released first: the device's comes first in the order.
    if (C10_UNLIKELY(whole.shared_.recorded.enabled() && !device_too)) {
      part.mutex.unlock();
      device_.lock();
      part.mutex.lock();
    }
  }
  stream_lock(const stream_lock&) = delete;
  stream_lock& operator=(const stream_lock&) = delete;
  ~stream_lock() {
    const bool overdrawn = part_.counts().is_overdrawn();
    part_.mutex.unlock();
    if (C10_UNLIKELY(device_.owns_lock())) device_.unlock();
    // Settling takes all locks, so it has to come after these are released.
    if (C10_UNLIKELY(overdrawn)) whole_.settle_peaks();
  }

 private:
  device_cache& whole_;
  stream_cache& part_;
  std::unique_lock<std::mutex> device_;
};

/// Holds the device's mutex and those of all streams. The constructor and the destructor settle
/// what any stream has overdrawn, so the peaks are exact while it is held.
class device_cache::lock_of_all {
 public:
  explicit lock_of_all(device_cache& whole) : whole_(whole), device_(whole.mutex_) {
    whole_.for_each_stream([](stream_cache& part) { part.mutex.lock(); });
    settle();
  }
  lock_of_all(const lock_of_all&) = delete;
  lock_of_all& operator=(const lock_of_all&) = delete;
  ~lock_of_all() {
    settle();
    whole_.for_each_stream([](stream_cache& part) { part.mutex.unlock(); });
  }

  /// Merges the recently freed blocks of every stream with their neighbours.
  void merge_recent() noexcept {
    whole_.for_each_stream([](stream_cache& part) { part.settle(); });
    settle();
  }

 private:
  void settle() noexcept {
    whole_.for_each_stream([this](stream_cache& part) {
      if (part.counts().is_overdrawn())
        whole_.stats_.settle(whole_.shares_, part.counts().counted());
    });
  }

  device_cache& whole_;
  std::lock_guard<std::mutex> device_;
};

}  // namespace outback::core
