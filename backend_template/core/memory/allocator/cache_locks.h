// The locks of a device_cache, in the order that its header sets. For its members alone.
#pragma once

#include <mutex>

#include "backend_template/core/memory/allocator/device_cache.h"

namespace outback::core {

/// One stream's, and the device's where `device_too`, or where the history is recorded. Its end
/// settles what the stream has overdrawn of its share of the peaks.
class device_cache::stream_lock {
 public:
  stream_lock(device_cache& whole, stream_cache& part, bool device_too = false)
      : whole_(whole), part_(part), device_(whole.mutex_, std::defer_lock) {
    if (device_too) device_.lock();
    part.mutex.lock();
    // Turned on and off with all locks held.
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
    if (C10_UNLIKELY(overdrawn)) whole_.settle_peaks();
  }

 private:
  device_cache& whole_;
  stream_cache& part_;
  std::unique_lock<std::mutex> device_;
};

/// All of them. Its beginning and end settle what any stream has overdrawn.
class device_cache::lock_of_all {
 public:
  explicit lock_of_all(device_cache& whole) : whole_(whole), device_(whole.mutex_) {
    whole_.for_each_stream([](stream_cache& it) { it.mutex.lock(); });
    settle();
  }
  lock_of_all(const lock_of_all&) = delete;
  lock_of_all& operator=(const lock_of_all&) = delete;
  ~lock_of_all() {
    settle();
    whole_.for_each_stream([](stream_cache& it) { it.mutex.unlock(); });
  }

  /// Merges what was freed last on every stream.
  void merge_recent() noexcept {
    whole_.for_each_stream([](stream_cache& it) { it.settle(); });
    settle();
  }

 private:
  void settle() noexcept {
    whole_.for_each_stream([this](stream_cache& it) {
      if (it.counts().is_overdrawn()) whole_.stats_.settle(whole_.shares_, it.counts().counted());
    });
  }

  device_cache& whole_;
  std::lock_guard<std::mutex> device_;
};

}  // namespace outback::core
