// A stream: a queue of work, and a thread that takes it from there.
//
// The thread starts with the first work that cannot run on the calling thread, so a process that
// never needs one has none. Threads are detached: a process may exit, by exit() or from a forked
// child, with work queued and threads alive. Each thread owns its stream, so that a stream may also
// go while it works.
//
// Work comes in through `try_run` and `enqueue` alone, so what a capture means is said there once.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "backend_template/runtimes/fork_count.hpp"
#include "backend_template/runtimes/host/busy_clock.hpp"
#include "backend_template/runtimes/host/capture.hpp"
#include "backend_template/runtimes/host/forked.hpp"
#include "backend_template/runtimes/host/randomness.hpp"
#include "outback/runtime.h"

namespace outback::host {

/// What a stream is made with, beyond its device.
struct stream_options {
  int32_t priority = 0;  // -1, 0 or 1; lower is more urgent
  // Nothing runs on the calling thread, and the stream's thread dawdles before each piece of work.
  std::optional<randomness> adversary = std::nullopt;
};

/// May be used from any thread. Every work item is noexcept in spirit: one that throws ends the
/// process.
class stream : public std::enable_shared_from_this<stream> {
 public:
  /// `busy` measures the stream's thread.
  stream(int32_t device, std::shared_ptr<busy_clock> busy, const stream_options& options = {})
      : device_(device), options_(options), busy_(std::move(busy)) {}
  /// Another handle of a stream: of it, only `queue` and `device` are for use.
  explicit stream(std::shared_ptr<stream> queue)
      : device_(queue->device_), queue_of_(std::move(queue)) {}

  /// The stream that this is a handle of: itself, as a rule.
  stream& queue() noexcept { return queue_of_ ? *queue_of_ : *this; }

  int32_t device() const noexcept { return device_; }

  /// Everything that was enqueued has run, and what it wrote is visible to the caller; false in a
  /// capture. One atomic load.
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

  /// Runs `work` after everything that was enqueued before; in a capture, keeps it instead. Answers
  /// the ticket to `wait` for. Throws outback::runtime_error in a child process forked after the
  /// thread had started, if no thread can start, or if the capture is broken; then nothing was
  /// enqueued.
  uint64_t enqueue(std::function<void()> work);

  /// The same, for work that cannot be kept: in a capture it throws outback::invalid_argument with
  /// `what` it is, and breaks the capture.
  uint64_t enqueue_uncaptured(std::function<void()> work, const char* what);

  /// Returns when the work that got `ticket` has run. Throws like `enqueue`.
  void wait(uint64_t ticket);

  /// Returns when all that was enqueued before the call has run. Throws like `enqueue`; in a
  /// capture it breaks that and throws outback::invalid_argument.
  void sync();

  /// Like `idle`, but breaks a capture and throws as `sync` does.
  bool query() {
    if (idle()) return true;
    refuse_in_capture("asking whether the stream is done");
    return false;
  }

  /// Lets the thread end when the queue is empty. Nothing may be enqueued any more; waiting stays
  /// legal.
  void close();

  // ---- Captures; all throw outback::invalid_argument where they say nothing else.

  /// One relaxed load.
  bool captured() const noexcept {
    return (pending_.load(std::memory_order_relaxed) & captured_bit) != 0;
  }
  outback_capture capture_status() const;
  /// The stream must be in no capture.
  void begin_capture();
  /// Of the capture that began here: all its streams leave it. Throws if it is broken or a stream
  /// of it was not joined.
  recording end_capture();
  /// Where the stream is in its capture; throws if it is in none.
  std::unique_ptr<const capture::place> place_in_capture() const;
  /// A capture goes on after `there`; a stream in none joins that of `there`. Two captures do not
  /// meet: both break.
  void wait_in_capture(const capture::place& there);
  /// In a capture: breaks it and throws, saying that `what` cannot be a part of one.
  void refuse_in_capture(const char* what) const;
  /// For a stream that goes. Breaks the capture, and ends it if it began here.
  void abandon_capture();

 private:
  // In a forked child the mutex may be held for ever by a thread that is not there, so each
  // function asks first.
  void check_same_process() const {
    if (has_thread_.load(std::memory_order_acquire)) check_not_forked(forks_);
  }
  bool same_process() const noexcept {
    return !has_thread_.load(std::memory_order_acquire) || fork_count() == forks_;
  }
  uint64_t enqueue_locked(std::function<void()> work);               // mutex_ is held
  void refuse_locked(const char* what) const;                        // likewise
  void enter(std::shared_ptr<capture> given, const progress& seen);  // mutex_ is held
  void leave(const capture& given);
  void set_niceness() const noexcept;
  bool begin_inline();
  void end_inline() noexcept;
  void start_thread();
  void work_until_closed() noexcept;

  // In pending_, so that a stream in a capture is not idle and nothing else has to be looked at.
  static constexpr uint64_t captured_bit = uint64_t{1} << 63;

  const int32_t device_;
  stream_options options_;  // the adversary is the thread's
  const std::shared_ptr<busy_clock> busy_;
  const std::shared_ptr<stream> queue_of_;
  std::atomic<uint64_t> pending_{0};     // enqueued or running; written under mutex_
  std::atomic<bool> has_thread_{false};  // once true it stays true
  uint32_t forks_ = 0;  // fork_count() when the thread was started; written before has_thread_

  mutable std::mutex mutex_;
  std::condition_variable has_work_, has_done_;
  std::deque<std::function<void()>> queue_;
  uint64_t enqueued_ = 0,
           done_ = 0;    // both count from the beginning: a ticket is the value of enqueued_
  bool inline_ = false;  // the caller of try_run is at work, so the thread has to wait
  bool closed_ = false;
  std::shared_ptr<capture> capture_;  // null: in none
  std::size_t lane_ = 0;              // in capture_
};

}  // namespace outback::host
