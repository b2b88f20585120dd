// What the streams of a device have done and when, while somebody records it: the group activity.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>

#include "outback/runtime.h"

namespace outback::host {

/// What a piece of work is, for its record. `name` lives as long as the process.
struct work_note {
  outback_record_kind kind = 0;  // 0: it gets no record
  uint64_t bytes = 0;
  const char* name = nullptr;
};

/// For what only marks a place or waits: an event's recording, a wait for an event.
inline constexpr work_note no_work{};
/// For what somebody puts on a stream past the runtime's slots.
inline constexpr work_note native_work{.kind = OUTBACK_RECORD_KERNEL};

/// The records of one device. May be used from any thread, and in a forked child, which has a log
/// of its own.
class activity_log {
 public:
  /// How many records are kept until they are read. What comes after those is counted.
  static constexpr std::size_t room = std::size_t{1} << 18;

  activity_log() = default;
  ~activity_log();
  activity_log(const activity_log&) = delete;
  activity_log& operator=(const activity_log&) = delete;

  /// The number of the recording that goes on, or 0. One relaxed load, which is all that work costs
  /// without one.
  uint64_t recording() const noexcept { return recording_.load(std::memory_order_relaxed); }

  /// Begins a recording and drops what was not read. Throws outback::invalid_argument if one goes
  /// on.
  void start();
  /// Ends it. Throws outback::invalid_argument if none goes on.
  void stop();
  /// Takes out the oldest records, as many as there is room for.
  outback_records read();
  /// Keeps a record of work that was done, unless a later recording has begun since it was enqueued
  /// in `recording`.
  void add(uint64_t recording, const outback_record& done) noexcept;

 private:
  struct state {
    explicit state(uint32_t forks) : forks(forks) {}
    const uint32_t forks;  // fork_count() when it was made
    std::mutex mutex;
    uint64_t last = 0;  // recording
    bool goes_on = false;
    std::deque<outback_record> records;
    uint64_t lost = 0;
  };
  // This process's own: in a child, a thread that is not there may hold the parent's mutex. Null if
  // nothing was recorded yet.
  state* current() const noexcept;
  state& make_current();

  std::atomic<uint64_t> recording_{0};
  std::atomic<state*> state_{nullptr};
};

/// How work is recorded when it runs: on which log, as whose. Made when the work is enqueued.
struct record_place {
  activity_log* log = nullptr;
  uint64_t recording = 0;  // 0: not at all
  uint64_t stream = 0;
  uint64_t correlation = 0;
  uint32_t flags = 0;
};

/// Now, on the clock of the records: nanoseconds of CLOCK_MONOTONIC.
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

/// The numbers that the calling thread has pushed. They throw outback::invalid_argument where the
/// contract says so.
void push_correlation(uint64_t number);
uint64_t pop_correlation();
uint64_t correlation_here() noexcept;

}  // namespace outback::host
