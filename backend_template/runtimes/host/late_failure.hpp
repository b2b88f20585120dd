// Work that fails after it was enqueued: kernels that fault, and the piece of work that
// OUTBACK_HOST_FAIL_WORK makes fail, to test programs and backends with errors that show up late.
// See host_options::fail_work.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "backend_template/runtimes/activity_log.hpp"

namespace outback::host {

/// Counts a runtime's pieces of work, and picks the piece that fails.
class failing_work {
 public:
  /// Piece number `number`, from 1, fails.
  explicit failing_work(uint64_t number) noexcept : number_(number) {}

  /// Counts a piece of work that is enqueued outside of a capture, and returns whether this piece
  /// fails. Does not count marks such as an event's recording. May be called from any thread.
  bool picks(const work_note& note) noexcept {
    return note.kind != 0 && count_.fetch_add(1, std::memory_order_relaxed) + 1 == number_;
  }
  /// Returns the text of the failure of the piece that was picked.
  std::string text(const work_note& failed) const;

 private:
  const uint64_t number_;
  std::atomic<uint64_t> count_{0};
};

/// The failure on one stream that was not reported yet. May be used from any thread.
class late_failure {
 public:
  /// Makes `failure` the one that `of_running_work` returns on this thread, as long as the object
  /// exists.
  class scope {
   public:
    explicit scope(late_failure& failure) noexcept : before_(running_) { running_ = &failure; }
    ~scope() { running_ = before_; }
    scope(const scope&) = delete;
    scope& operator=(const scope&) = delete;

   private:
    late_failure* const before_;
  };

  /// Returns the failure of the stream whose work the calling thread runs. Only for work of a
  /// stream.
  static late_failure& of_running_work() noexcept { return *running_; }

  /// Keeps the failure of a piece of work, unless an earlier one was not reported yet.
  void keep(const std::string& text);
  bool is_kept() const noexcept { return is_kept_.load(std::memory_order_acquire); }
  /// Throws the failure once, as an outback::runtime_error with OUTBACK_INTERNAL. Does nothing if
  /// there is no failure.
  void tell();

 private:
  static inline thread_local constinit late_failure* running_ = nullptr;

  std::atomic<bool> is_kept_{false};
  std::mutex mutex_;
  std::string text_;
};

/// Whether a failing piece of work does not run. Copies and fills do not run, and so write nothing.
/// All other work runs and fails at its end: a callback must run, because it frees its data, and a
/// launch of a graph must run, because the next launch waits for it.
constexpr bool is_left_undone(const work_note& failed) noexcept {
  return failed.kind != OUTBACK_RECORD_KERNEL && failed.kind != OUTBACK_RECORD_CALLBACK &&
         failed.kind != OUTBACK_RECORD_GRAPH;
}

}  // namespace outback::host
