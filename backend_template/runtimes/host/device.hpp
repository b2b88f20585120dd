// One device of the host runtime: its memory budget and its streams. host_runtime.hpp finds the
// device for an index and calls it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "backend_template/runtimes/activity_log.hpp"
#include "backend_template/runtimes/host/busy_clock.hpp"
#include "backend_template/runtimes/host/stream.hpp"
#include "backend_template/runtimes/memory_budget.hpp"

namespace outback::host {

/// The range of stream priorities. Lower is more urgent, as in torch.cuda.
inline constexpr int32_t least_priority = 1, greatest_priority = -1;

/// How many items a group of a kernel may have, and how many bytes of local memory.
inline constexpr uint32_t max_group_size = 1024;
inline constexpr uint64_t max_local_size = uint64_t{1} << 20;

/// A device's memory budget, which is only a number here because the memory itself is the host's,
/// and its streams. May be used from any thread. The destructor must run after every other call has
/// returned.
class device {
 public:
  /// `memory_size` is the budget in bytes, and `adversarial` is the seed of host_options. `failing`
  /// picks the piece of work that fails; null if no work fails. Starts no thread.
  device(int32_t index, uint64_t memory_size, uint64_t adversarial = 0,
         std::shared_ptr<failing_work> failing = nullptr);
  /// Ends captures and waits for the work of all streams. Does not wait in a forked child, where
  /// the streams' threads do not exist.
  ~device();

  int32_t index() const noexcept { return index_; }
  uint64_t memory_size() const noexcept { return memory_size_; }
  uint64_t memory_used() const noexcept { return budget_.used(); }
  /// Returns whether this process, or a process that it was forked from, has asked for memory or
  /// created a stream on the device.
  bool active() const noexcept { return active_.load(std::memory_order_relaxed); }

  /// Takes `size` bytes from the budget. Throws outback::out_of_memory, and takes nothing, if fewer
  /// bytes are left. Takes no lock.
  void reserve(uint64_t size);
  /// Gives `size` bytes back to the budget.
  void release(uint64_t size) noexcept { budget_.give_back(size); }

  /// Returns the stream that a null handle stands for. It lives as long as the device.
  stream& default_stream() noexcept { return *default_stream_; }
  /// Makes a stream, which the device owns until `destroy_stream`. `priority` is clamped to the
  /// range above. Starts no thread yet.
  stream* create_stream(int32_t priority = 0);
  /// Makes one more handle for a queue of this device: `native` is the address of a stream's
  /// `queue()`, as native.stream returned it. The address is only compared with the addresses of
  /// the device's streams, never dereferenced. The device owns the handle until `destroy_stream`;
  /// the queue lives until its last handle is destroyed. Throws outback::invalid_argument if no
  /// stream of this device has that queue.
  stream* wrap_stream(const void* native);
  /// Forgets a handle. After the last handle of a queue, the queue ends once its work is done, but
  /// the call does not wait for the end. A capture of the queue breaks. Throws
  /// outback::invalid_argument for a stream that is not of this device, for null and for the
  /// default stream.
  void destroy_stream(stream* given);
  /// Waits for the work of all streams, destroyed ones included. If a stream is in a capture,
  /// breaks that capture and throws outback::invalid_argument without waiting. In a forked child,
  /// throws the same as `stream::sync`. Once all work is done, throws one late failure, if there is
  /// one.
  void sync();

  /// Returns the clock that counts the processor time of the threads of all streams.
  busy_clock& busy() noexcept { return *busy_; }
  /// Returns the log with the records of the work of all streams.
  activity_log& log() noexcept { return *log_; }

 private:
  void forget_finished();  // the caller holds mutex_
  std::shared_ptr<stream> new_stream(int32_t priority);

  const int32_t index_;
  const uint64_t memory_size_;
  const uint64_t adversarial_;
  const std::shared_ptr<failing_work> failing_;
  uint64_t streams_made_ = 0;
  memory_budget budget_;
  std::atomic<bool> active_{false};
  const std::shared_ptr<busy_clock> busy_ = std::make_shared<busy_clock>();
  const std::shared_ptr<activity_log> log_ = std::make_shared<activity_log>();
  const std::shared_ptr<stream> default_stream_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<stream>> streams_;
  std::vector<std::shared_ptr<stream>> destroyed_;  // queues without a handle that still have work
};

}  // namespace outback::host
