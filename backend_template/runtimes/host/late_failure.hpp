// Work that fails after it was enqueued: OUTBACK_HOST_FAIL_WORK asks for it, so that programs and
// backends can be tested with errors that show up late. See host_options::fail_work.
#pragma once

#include <atomic>
#include <cstdint>

#include "backend_template/runtimes/host/activity_log.hpp"

namespace outback::host {

/// Counts the pieces of work of a runtime, and picks the one that is to fail.
class failing_work {
 public:
  /// `number` counts from 1.
  explicit failing_work(uint64_t number) noexcept : number_(number) {}

  uint64_t number() const noexcept { return number_; }
  /// Counts a piece that is enqueued outside of a capture. Returns whether it is the one. What is
  /// no work, such as an event's recording, does not count. May be called from any thread.
  bool picks(const work_note& note) noexcept {
    return note.kind != 0 && count_.fetch_add(1, std::memory_order_relaxed) + 1 == number_;
  }

 private:
  const uint64_t number_;
  std::atomic<uint64_t> count_{0};
};

/// What has failed on one stream and was not told yet. May be used from any thread.
class late_failure {
 public:
  explicit late_failure(uint64_t number) noexcept : number_(number) {}

  /// Keeps the failure of a piece of work. The stream calls it when the piece has failed.
  void keep(const work_note& note) noexcept { kind_.store(note.kind, std::memory_order_release); }
  bool is_kept() const noexcept { return kind_.load(std::memory_order_acquire) != 0; }
  /// Throws the failure as an outback::runtime_error with OUTBACK_INTERNAL, once. Returns if there
  /// is none.
  void tell();

 private:
  const uint64_t number_;
  std::atomic<outback_record_kind> kind_{0};  // 0: none
};

/// Whether a piece that fails leaves its work undone. Copies and fills write nothing. All else runs
/// and fails at its end: a callback has to run, since its data is freed there, and so has a launch,
/// which the next launch of the graph waits for.
constexpr bool is_left_undone(const work_note& failed) noexcept {
  return failed.kind != OUTBACK_RECORD_KERNEL && failed.kind != OUTBACK_RECORD_CALLBACK &&
         failed.kind != OUTBACK_RECORD_GRAPH;
}

}  // namespace outback::host
