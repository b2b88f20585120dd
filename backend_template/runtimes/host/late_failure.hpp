// Work that fails after it was enqueued. OUTBACK_HOST_FAIL_WORK makes a piece of work fail, to test
// programs and backends with errors that show up late. See host_options::fail_work.
#pragma once

#include <atomic>
#include <cstdint>

#include "backend_template/runtimes/host/activity_log.hpp"

namespace outback::host {

/// Counts a runtime's pieces of work, and picks the piece that fails.
class failing_work {
 public:
  /// Piece number `number`, from 1, fails.
  explicit failing_work(uint64_t number) noexcept : number_(number) {}

  uint64_t number() const noexcept { return number_; }
  /// Counts a piece of work that is enqueued outside of a capture, and returns whether this piece
  /// fails. Does not count marks such as an event's recording. May be called from any thread.
  bool picks(const work_note& note) noexcept {
    return note.kind != 0 && count_.fetch_add(1, std::memory_order_relaxed) + 1 == number_;
  }

 private:
  const uint64_t number_;
  std::atomic<uint64_t> count_{0};
};

/// The failure on one stream that was not reported yet. May be used from any thread.
class late_failure {
 public:
  explicit late_failure(uint64_t number) noexcept : number_(number) {}

  /// Stores the failure of a piece of work. The stream calls this when the piece has failed.
  void keep(const work_note& note) noexcept { kind_.store(note.kind, std::memory_order_release); }
  bool is_kept() const noexcept { return kind_.load(std::memory_order_acquire) != 0; }
  /// Throws the failure once, as an outback::runtime_error with OUTBACK_INTERNAL. Does nothing if
  /// there is no failure.
  void tell();

 private:
  const uint64_t number_;
  std::atomic<outback_record_kind> kind_{0};  // 0: no failure
};

/// Whether a failing piece of work does not run. Copies and fills do not run, and so write nothing.
/// All other work runs and fails at its end: a callback must run, because it frees its data, and a
/// launch of a graph must run, because the next launch waits for it.
constexpr bool is_left_undone(const work_note& failed) noexcept {
  return failed.kind != OUTBACK_RECORD_KERNEL && failed.kind != OUTBACK_RECORD_CALLBACK &&
         failed.kind != OUTBACK_RECORD_GRAPH;
}

}  // namespace outback::host
