// A stream: a queue of work, and a thread that takes it from there.
//
// The thread starts with the first work that cannot run on the calling thread, so a process that
// never needs one has none. Threads are detached: a process may exit, by exit() or from a forked
// child, with work queued and threads alive. Each thread owns its stream, so that a stream may also
// go while it works.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "backend_template/runtimes/host/busy_clock.hpp"

namespace outback::host {

/// May be used from any thread. Every work item is noexcept in spirit: one that throws ends the
/// process.
class stream : public std::enable_shared_from_this<stream> {
 public:
  /// `busy` measures the stream's thread.
  stream(int32_t device, std::shared_ptr<busy_clock> busy)
      : device_(device), busy_(std::move(busy)) {}
  /// Another handle of a stream: of it, only `queue` and `device` are for use.
  explicit stream(std::shared_ptr<stream> queue)
      : device_(queue->device_), queue_of_(std::move(queue)) {}

  /// The stream that this is a handle of: itself, as a rule.
  stream& queue() noexcept { return queue_of_ ? *queue_of_ : *this; }

  int32_t device() const noexcept { return device_; }

  /// Everything that was enqueued has run, and what it wrote is visible to the caller. One atomic
  /// load.
  bool idle() const noexcept { return pending_.load(std::memory_order_acquire) == 0; }

  /// Runs `work` on the calling thread, as if enqueued and waited for, if the stream is idle; false
  /// if it is not.
  template <class Work>
  bool try_run(const Work& work) {
    if (!idle() || !begin_inline()) return false;
    work();
    end_inline();
    return true;
  }

  /// Runs `work` after everything that was enqueued before. Answers the ticket to `wait` for.
  /// Throws outback::runtime_error in a child process forked after the thread had started, or if no
  /// thread can start; then nothing was enqueued.
  uint64_t enqueue(std::function<void()> work);

  /// Returns when the work that got `ticket` has run. Throws like `enqueue`.
  void wait(uint64_t ticket);

  /// Returns when all that was enqueued before the call has run. Throws like `enqueue`.
  void sync();

  /// Lets the thread end when the queue is empty. Nothing may be enqueued any more; waiting stays
  /// legal.
  void close();

 private:
  bool begin_inline();
  void end_inline() noexcept;
  void start_thread();
  void work_until_closed() noexcept;

  const int32_t device_;
  const std::shared_ptr<busy_clock> busy_;
  const std::shared_ptr<stream> queue_of_;
  std::atomic<uint64_t> pending_{0};     // enqueued or running; written under mutex_
  std::atomic<bool> has_thread_{false};  // once true it stays true
  uint32_t forks_ = 0;  // fork_count() when the thread was started; written before has_thread_

  std::mutex mutex_;
  std::condition_variable has_work_, has_done_;
  std::deque<std::function<void()>> queue_;
  uint64_t enqueued_ = 0,
           done_ = 0;    // both count from the beginning: a ticket is the value of enqueued_
  bool inline_ = false;  // the caller of try_run is at work, so the thread has to wait
  bool closed_ = false;
};

}  // namespace outback::host
