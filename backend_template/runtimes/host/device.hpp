// One device: its budget of memory and its streams.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "backend_template/runtimes/host/busy_clock.hpp"
#include "backend_template/runtimes/host/stream.hpp"

namespace outback::host {

/// Of streams.
inline constexpr int32_t least_priority = 1, greatest_priority = -1;

/// May be used from any thread.
class device {
 public:
  /// `adversarial`: as in host_options.
  device(int32_t index, uint64_t memory_size, uint64_t adversarial = 0);
  /// Waits for the work of all streams, except in a forked child. Captures end.
  ~device();

  int32_t index() const noexcept { return index_; }
  uint64_t memory_size() const noexcept { return memory_size_; }
  uint64_t memory_used() const noexcept { return used_.load(std::memory_order_relaxed); }
  /// Something was allocated or a stream was made, by this process or one that it was forked from.
  bool active() const noexcept { return active_.load(std::memory_order_relaxed); }

  /// Takes `size` bytes of the budget. Throws outback::out_of_memory, and takes none, if they are
  /// not there.
  void reserve(uint64_t size);
  void release(uint64_t size) noexcept { used_.fetch_sub(size, std::memory_order_relaxed); }

  stream& default_stream() noexcept { return *default_stream_; }
  /// Belongs to the device until `destroy_stream`. `priority` is clamped.
  stream* create_stream(int32_t priority = 0);
  /// One more for the queue of the stream whose `queue()` is at `native`: an address, that is never
  /// followed. It belongs to the device until `destroy_stream`; the queue goes on until the last of
  /// its streams went. Throws outback::invalid_argument if no stream of this device has that queue.
  stream* wrap_stream(const void* native);
  /// Throws outback::invalid_argument for a stream that is not of this device, or the default one.
  void destroy_stream(stream* given);
  /// Waits for all streams, those that were destroyed with work queued too. Throws like
  /// `stream::sync`, without waiting if one is in a capture.
  void sync();

  /// Processor time of the threads of all its streams.
  busy_clock& busy() noexcept { return *busy_; }

 private:
  void forget_finished();  // mutex_ is held
  std::shared_ptr<stream> new_stream(int32_t priority);

  const int32_t index_;
  const uint64_t memory_size_;
  const uint64_t adversarial_;
  uint64_t streams_made_ = 0;
  std::atomic<uint64_t> used_{0};
  std::atomic<bool> active_{false};
  const std::shared_ptr<busy_clock> busy_ = std::make_shared<busy_clock>();
  const std::shared_ptr<stream> default_stream_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<stream>> streams_;
  std::vector<std::shared_ptr<stream>> destroyed_;  // those with work left
};

}  // namespace outback::host
