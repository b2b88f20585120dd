// One device of the host runtime: its memory budget and its streams. host_runtime.hpp finds the
// device for an index and calls it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "backend_template/runtimes/host/activity_log.hpp"
#include "backend_template/runtimes/host/busy_clock.hpp"
#include "backend_template/runtimes/host/stream.hpp"
#include "backend_template/runtimes/memory_budget.hpp"

namespace outback::host {

/// The range of stream priorities. Lower is more urgent, as in torch.cuda.
inline constexpr int32_t least_priority = 1, greatest_priority = -1;

/// A budget of memory, which is only a number here (the bytes come from malloc), and the streams of
/// the device. May be used from any thread. The destructor must run after every other call has
/// returned.
class device {
 public:
  /// `memory_size` is the budget in bytes, `adversarial` the seed of host_options; `failing` picks
  /// the piece of work that fails, and is null if none does. Starts no thread.
  device(int32_t index, uint64_t memory_size, uint64_t adversarial = 0,
         std::shared_ptr<failing_work> failing = nullptr);
  /// Ends captures and waits for the work of all streams. In a forked child it does not wait,
  /// because the streams' threads are not there.
  ~device();

  int32_t index() const noexcept { return index_; }
  uint64_t memory_size() const noexcept { return memory_size_; }
  uint64_t memory_used() const noexcept { return budget_.used(); }
  /// Whether memory was asked for or a stream was created on the device, by this process or by one
  /// that it was forked from.
  bool active() const noexcept { return active_.load(std::memory_order_relaxed); }

  /// Takes `size` bytes from the budget. Throws outback::out_of_memory, and takes none, if fewer
  /// are left. Takes no lock.
  void reserve(uint64_t size);
  /// Gives `size` bytes back to the budget.
  void release(uint64_t size) noexcept { budget_.give_back(size); }

  /// The stream that a null handle stands for. It lives as long as the device.
  stream& default_stream() noexcept { return *default_stream_; }
  /// Makes a stream, which the device owns until `destroy_stream`. `priority` is clamped to the
  /// range above. Starts no thread yet.
  stream* create_stream(int32_t priority = 0);
  /// Makes one more handle for a queue of this device: `native` is the address of a stream's
  /// `queue()`, as native.stream returned it. The address is compared with those of the device's
  /// streams and never dereferenced. The device owns the handle until `destroy_stream`; the queue
  /// lives until its last handle is destroyed. Throws outback::invalid_argument if no stream of
  /// this device has that queue.
  stream* wrap_stream(const void* native);
  /// Forgets a handle. If it was the last of its queue, the queue ends once the work that it has is
  /// done; the call does not wait for that, and a capture of the queue breaks. Throws
  /// outback::invalid_argument for a stream that is not of this device, for null and for the
  /// default stream.
  void destroy_stream(stream* given);
  /// Waits for the work of all streams, destroyed ones included. If a stream is in a capture,
  /// breaks that capture and throws outback::invalid_argument without waiting. Also throws what
  /// `stream::sync` throws in a forked child, and one late failure once all work is done.
  void sync();

  /// The processor time of the threads of all its streams.
  busy_clock& busy() noexcept { return *busy_; }
  /// The records of the work of all its streams.
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
  std::vector<std::shared_ptr<stream>> destroyed_;  // by their last handle, with work left
};

}  // namespace outback::host
