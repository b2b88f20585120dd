// A stream of the host runtime: a queue of work, and a thread that runs the work. Read this to
// learn which thread runs which work, and what a capture changes.
//
// The thread starts with the first work that cannot run on the calling thread, so a process that
// never needs a thread has none. Threads are detached: a process may call exit(), or be a forked
// child that ends, while work is queued and threads live. Each thread shares ownership of its
// stream, so the last other owner may drop a stream that still has work.
//
// Work enters a stream only through `try_run`, `enqueue` and `enqueue_uncaptured`. Their comments
// say how a capture treats the work.
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

#include "backend_template/runtimes/activity_log.hpp"
#include "backend_template/runtimes/fork_count.hpp"
#include "backend_template/runtimes/host/busy_clock.hpp"
#include "backend_template/runtimes/host/capture.hpp"
#include "backend_template/runtimes/host/late_failure.hpp"
#include "backend_template/runtimes/host/randomness.hpp"
#include "outback/runtime.h"

namespace outback::host {

/// The argument `what` of `check_not_forked` for a stream that has a thread.
inline constexpr const char* used_before_fork = "the device had started work in the background";

/// Options of a stream.
struct stream_options {
  int32_t priority = 0;  // greatest_priority to least_priority; lower is more urgent
  // If set, no work runs on the calling thread, and the stream's thread sleeps up to 200
  // microseconds before half of its pieces of work.
  std::optional<randomness> adversary = std::nullopt;
  // Picks the piece of work that fails. Null: no work fails.
  std::shared_ptr<failing_work> failing = nullptr;
};

/// The threads that may run a piece of work.
enum class runner : uint8_t {
  its_thread,    // the stream's thread alone
  a_waiter_too,  // also a thread that waits for the stream, to save a wake-up
};

/// May be used from any thread; a shared_ptr must own it. Work must not throw: on the stream's
/// thread an exception ends the process, and in `try_run` an exception leaves the stream busy for
/// ever.
class stream : public std::enable_shared_from_this<stream> {
 public:
  /// Makes a stream with its own queue. `busy` measures the stream's thread, and `log` gets the
  /// records of the stream's work.
  stream(int32_t device, std::shared_ptr<busy_clock> busy, const stream_options& options = {},
         std::shared_ptr<activity_log> log = std::make_shared<activity_log>())
      : device_(device), options_(options), busy_(std::move(busy)), log_(std::move(log)) {}
  /// Makes another handle for the queue of `queue`. Such an object allows only calls of `queue()`
  /// and `device()`.
  explicit stream(std::shared_ptr<stream> queue)
      : device_(queue->device_), queue_of_(std::move(queue)) {}

  /// Returns the stream that has the queue: this stream, or the stream for which this object is
  /// another handle.
  stream& queue() noexcept { return queue_of_ ? *queue_of_ : *this; }

  int32_t device() const noexcept { return device_; }
  /// The stream's number in records. Every stream of the process has a different number.
  uint64_t number() const noexcept { return number_; }

  /// Returns whether all enqueued work has run. If true, the caller sees all writes of that work.
  /// Always false in a capture. Costs one atomic load.
  bool idle() const noexcept { return pending_.load(std::memory_order_acquire) == 0; }

  /// If the stream is idle, in no capture and not adversarial, runs `work` on the calling thread
  /// and returns true. Otherwise runs nothing and returns false. Work that other threads enqueue
  /// meanwhile waits. If a recording goes on, `note` describes the work in its record, here and in
  /// the functions below. Throws outback::runtime_error in a forked child.
  template <class Work>
  bool try_run(const Work& work, const work_note& note = native_work) {
    if (!idle() || !begin_inline()) return false;
    run_piece(record_here(), note, is_to_fail(note), work);
    end_inline();
    return true;
  }

  /// Lets `by` run `work` after all work that was enqueued before; in a capture, adds `work` to the
  /// graph instead. Returns the ticket for `wait`. Throws outback::invalid_argument if the stream's
  /// capture is broken, and outback::runtime_error if no thread can start or if this process is a
  /// child that was forked after the thread had started. If it throws, nothing is enqueued.
  uint64_t enqueue(std::function<void()> work, runner by = runner::its_thread,
                   const work_note& note = native_work);

  /// Enqueues work that no graph can contain. In a capture, breaks the capture and throws
  /// outback::invalid_argument; `what` names the work in the text. Calls `accepted` when the work
  /// is sure to run, before it runs; `accepted` must neither throw nor call the stream. Otherwise
  /// like `enqueue`.
  uint64_t enqueue_uncaptured(std::function<void()> work, const char* what,
                              const std::function<void()>& accepted = nullptr,
                              runner by = runner::its_thread, const work_note& note = native_work);

  /// Returns where work that the calling thread enqueues now is recorded.
  record_place record_here() const noexcept {
    const uint64_t recording = log_->recording();
    if (recording == 0) return {};
    return {log_.get(), recording, number_, correlation_here()};
  }

  /// Blocks the caller until the work with this ticket has run; the caller may run some of it.
  /// Throws outback::runtime_error in a forked child.
  void wait(uint64_t ticket);

  /// Blocks the caller until all work that was enqueued before the call has run. In a capture,
  /// breaks the capture and throws outback::invalid_argument. Throws outback::runtime_error in a
  /// forked child, and throws a late failure of the stream.
  void sync();

  /// Returns `idle()`. In a capture, breaks the capture and throws outback::invalid_argument.
  /// Throws a late failure of the stream.
  bool query() {
    const bool is_done = idle();
    if (!is_done) refuse_in_capture("asking whether the stream is done");
    tell_failure();
    return is_done;
  }

  /// The stream's late failure that was not reported yet.
  const std::shared_ptr<late_failure>& failure() const noexcept { return failure_; }
  /// Throws a late failure of the stream, once.
  void tell_failure() { failure_->tell(); }
  /// Waits like `sync`, but leaves a late failure to the next call that reports it.
  void sync_untold();

  /// Lets the thread end once the queue is empty. After this call no work may be enqueued, but
  /// waiting is still allowed.
  void close();

  // ---- Captures. Functions that throw here throw outback::invalid_argument. In a forked child,
  // begin_capture, end_capture and wait_in_capture throw outback::runtime_error.

  /// Returns whether the stream is in a capture. Costs one relaxed load.
  bool captured() const noexcept {
    return (pending_.load(std::memory_order_relaxed) & captured_bit) != 0;
  }
  /// Returns OUTBACK_CAPTURE_NONE, _ACTIVE or _BROKEN. Does not throw.
  outback_capture capture_status() const;
  /// Begins a capture, in which this stream is lane 0. Throws if the stream is in a capture
  /// already.
  void begin_capture();
  /// Ends the capture that began on this stream, releases all its streams, and returns its work. If
  /// the capture is broken or one of its streams was not joined, ends the capture and throws. If no
  /// capture began on this stream, throws and ends nothing.
  recording end_capture();
  /// Returns the stream's place in its capture, for recording an event. Throws if the stream is in
  /// no capture.
  std::unique_ptr<const capture::place> place_in_capture() const;
  /// Makes the stream's later work in the capture wait for all work before `there`. A stream in no
  /// capture joins the capture of `there`. If the stream is in another capture, breaks both
  /// captures and throws.
  void wait_in_capture(const capture::place& there);
  /// If the stream is in a capture, breaks the capture and throws; the text says that `what` cannot
  /// be captured.
  void refuse_in_capture(const char* what) const;
  /// Call this for a stream that is destroyed. Breaks the stream's capture, and ends the capture if
  /// it began on this stream.
  void abandon_capture();

 private:
  // In a forked child the mutex may be locked for ever by a thread that exists only in the parent.
  // So each function that locks first checks that this is the process that started the thread.
  void check_same_process() const {
    if (has_thread_.load(std::memory_order_acquire)) check_not_forked(forks_, used_before_fork);
  }
  bool same_process() const noexcept {
    return !has_thread_.load(std::memory_order_acquire) || fork_count() == forks_;
  }
  struct piece {
    std::function<void()> work;
    runner by;
    work_note note;
    record_place record;
    bool fails;
  };
  bool is_to_fail(const work_note& note) const noexcept {
    return options_.failing != nullptr && options_.failing->picks(note);
  }
  template <class Work>
  void run_piece(const record_place& place, const work_note& note, bool fails, const Work& work) {
    const late_failure::scope running(*failure_);
    if (!fails || !is_left_undone(note)) run_recorded(place, note, work);
    if (fails) failure_->keep(options_.failing->text(note));
  }
  static uint64_t next_number() noexcept {
    static constinit std::atomic<uint64_t> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
  }

  // The caller holds mutex_ for these.
  uint64_t enqueue_locked(std::function<void()> work, runner by, const work_note& note);
  void wake_thread() noexcept;
  void refuse_locked(const char* what) const;
  void enter(std::shared_ptr<capture> given, const progress& seen);
  void leave(const capture& given);
  // Blocks until the work with this ticket has run. Runs queued work itself if `runner` allows.
  void wait_locked(std::unique_lock<std::mutex>& lock, uint64_t ticket);
  // Runs the first piece of work in the queue, and releases the mutex meanwhile.
  void run_first(std::unique_lock<std::mutex>& lock);
  void set_niceness() const noexcept;
  bool begin_inline();
  void end_inline() noexcept;
  void start_thread();
  void work_until_closed() noexcept;

  // This bit is set in pending_ during a capture. So `idle` is false in a capture, and its one load
  // also rules out a capture.
  static constexpr uint64_t captured_bit = uint64_t{1} << 63;

  const int32_t device_;
  stream_options options_;  // only the thread uses the adversary
  const std::shared_ptr<busy_clock> busy_;
  const std::shared_ptr<activity_log> log_;
  const std::shared_ptr<late_failure> failure_ = std::make_shared<late_failure>();
  const uint64_t number_ = next_number();
  const std::shared_ptr<stream> queue_of_;
  std::atomic<uint64_t> pending_{0};     // pieces enqueued or running; written under mutex_
  std::atomic<bool> has_thread_{false};  // once true it stays true
  uint32_t forks_ = 0;  // fork_count() when the thread was started; written before has_thread_

  mutable std::mutex mutex_;
  std::condition_variable has_work_, has_done_;
  std::deque<piece> queue_;
  uint64_t enqueued_ = 0,
           done_ = 0;     // both count from the beginning: a ticket is the value of enqueued_
  bool running_ = false;  // a thread runs work: the stream's thread, or a caller of try_run or wait
  bool closed_ = false;
  std::shared_ptr<capture> capture_;  // null outside of captures
  std::size_t lane_ = 0;              // in capture_
};

}  // namespace outback::host
