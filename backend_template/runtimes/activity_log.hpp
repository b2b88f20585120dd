// The records of the group activity, for runtimes that record themselves what the streams of a
// device do and when.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>

#include "outback/runtime.h"

namespace outback {

/// Describes a piece of work for its record. `name` must live as long as the process.
struct work_note {
  outback_record_kind kind = 0;  // 0: the work gets no record
  uint64_t bytes = 0;
  const char* name = nullptr;
};

/// For steps that only mark a place or wait: an event's recording, or a wait for an event.
inline constexpr work_note no_work{};
/// For work that code puts on a stream without a slot of the runtime.
inline constexpr work_note native_work{.kind = OUTBACK_RECORD_KERNEL};

/// The records of one device. May be used from any thread, and in a forked child, which has its own
/// log.
class activity_log {
 public:
  /// How many unread records are kept. Later records are dropped and counted.
  static constexpr std::size_t room = std::size_t{1} << 18;

  activity_log() = default;
  ~activity_log();
  activity_log(const activity_log&) = delete;
  activity_log& operator=(const activity_log&) = delete;

  /// Returns the number of the current recording, or 0 if there is none. Costs one relaxed load,
  /// the only cost for work without a recording.
  uint64_t recording() const noexcept { return recording_.load(std::memory_order_relaxed); }

  /// Begins a recording and drops unread records. Throws outback::invalid_argument during a
  /// recording.
  void start();
  /// Ends the recording. Throws outback::invalid_argument if there is no recording.
  void stop();
  /// Removes and returns the oldest records, as many as outback_records has room for.
  outback_records read();
  /// Keeps `done`, the record of finished work that was enqueued during `recording`, unless a later
  /// recording has begun.
  void add(uint64_t recording, const outback_record& done) noexcept;

 private:
  struct state {
    explicit state(uint32_t forks) : forks(forks) {}
    const uint32_t forks;  // fork_count() when this was made
    std::mutex mutex;
    uint64_t last = 0;  // recording
    bool goes_on = false;
    std::deque<outback_record> records;
    uint64_t lost = 0;
  };
  // Returns this process's own state; null if nothing was recorded yet. A child must not use its
  // parent's state, whose mutex may be locked for ever by a thread that exists only in the parent.
  state* current() const noexcept;
  state& make_current();

  std::atomic<uint64_t> recording_{0};
  std::atomic<state*> state_{nullptr};
};

/// Where work is recorded when it runs: the log, the recording, the stream and the correlation.
/// Made when the work is enqueued.
struct record_place {
  activity_log* log = nullptr;
  uint64_t recording = 0;  // 0: the work is not recorded
  uint64_t stream = 0;
  uint64_t correlation = 0;
  uint32_t flags = 0;
};

/// Returns the time now on the clock of the records, in nanoseconds of CLOCK_MONOTONIC.
int64_t activity_now() noexcept;

/// Runs the work, and keeps a record of it if `place` and `note` ask for one.
template <class Work>
void run_recorded(const record_place& place, const work_note& note, const Work& work) {
  if (place.recording == 0 || note.kind == 0) return work();
  const int64_t begin = activity_now();
  work();
  place.log->add(place.recording, {.kind = note.kind,
                                   .flags = place.flags,
                                   .stream = place.stream,
                                   .begin = begin,
                                   .end = activity_now(),
                                   .bytes = note.bytes,
                                   .correlation = place.correlation,
                                   .name = note.name,
                                   .reserved = 0});
}

/// The calling thread's stack of correlation numbers. These functions throw
/// outback::invalid_argument where the contract says so.
void push_correlation(uint64_t number);
uint64_t pop_correlation();
uint64_t correlation_here() noexcept;

}  // namespace outback
