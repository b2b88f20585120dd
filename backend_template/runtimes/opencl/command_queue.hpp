// A queue: a driver's in-order queue (cl_command_queue), and the events of its commands that are
// not known to be done. A stream is a handle of a queue.
//
// Each command has an event, and the events are looked at in order: when the next command is
// enqueued, and when somebody asks or waits. So a command that failed is noticed, its times are
// recorded, and memory that it needed is freed, without a thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "backend_template/runtimes/activity_log.hpp"
#include "backend_template/runtimes/opencl/event_ref.hpp"
#include "outback/runtime.h"

namespace outback::opencl {

class driver;

/// May be used from any thread. Functions throw like `check`, and enqueue no work if they throw. If
/// a command has failed, `idle` or `sync` also throws the failure, once.
class command_queue {
 public:
  /// Takes over a reference to `handle`. A foreign queue was made by other code, which may enqueue
  /// commands too. `log` lives as long as the process.
  command_queue(driver& of, activity_log& log, cl_command_queue handle, bool foreign)
      : driver_(of), log_(log), handle_(handle), foreign_(foreign), exposed_(foreign) {}
  /// Commands that are not done still run.
  ~command_queue();
  command_queue(const command_queue&) = delete;
  command_queue& operator=(const command_queue&) = delete;

  cl_command_queue handle() const noexcept { return handle_; }
  bool foreign() const noexcept { return foreign_; }
  /// The number of the queue's stream in records: unique in the process, another one after
  /// `reclaim`.
  uint64_t number() const noexcept { return number_.load(std::memory_order_relaxed); }
  /// Records that other code has the queue, and may enqueue commands unseen.
  void expose() noexcept { exposed_.store(true, std::memory_order_relaxed); }
  /// Records that no other code enqueues commands any more, for a queue whose last stream was
  /// destroyed: from now on `idle` never waits. Commands of others count as work of the queue.
  void close_off();
  /// Makes the idle queue as good as new for another stream: forgets a failure.
  void reclaim();

  /// Returns where work that the calling thread enqueues now is recorded.
  record_place place_of(const work_note& note) const noexcept;

  /// Enqueues one command: `body(queue, &event)` calls the driver. Frees `staged` when the command
  /// is done.
  template <class Body>
  void enqueue(const work_note& note, const Body& body,
               std::unique_ptr<std::byte[]> staged = nullptr) {
    const std::lock_guard lock(mutex_);
    enqueue_locked(note, body, std::move(staged));
    submit();
  }
  /// Does the same, and returns the command's event.
  template <class Body>
  event_ref enqueue_event(const work_note& note, const Body& body) {
    const std::lock_guard lock(mutex_);
    event_ref done = enqueue_locked(note, body);
    submit();
    return done;
  }

  /// Returns an event that is over when all work that was enqueued before is done; empty if that
  /// work is known to be done.
  event_ref last();
  /// Does the same with an event that has times, and that is never empty.
  event_ref mark();

  /// Makes later work wait until `signal` is over, which belongs to any driver. The caller does not
  /// wait.
  void wait_for(const event_ref& signal, bool same_driver);

  /// Runs `work` on the host thread after all work that was enqueued before; later work runs after
  /// `work` has returned.
  void enqueue_host_work(std::function<void()> work);

  /// Returns whether all enqueued work is done. If other code has the queue, the call may wait up
  /// to 200 ms.
  bool idle();
  /// Waits until all work that was enqueued before the call is done.
  void sync();
  /// Records the work that is done.
  void record();
  /// Returns whether the driver may be at work for the queue: false also if the queue waits for an
  /// event.
  bool is_at_work();

 private:
  struct pending {
    work_note note;
    record_place place;
    std::unique_ptr<std::byte[]> staged;
    event_ref done;
  };

  // The caller holds mutex_, and submits. The result is valid until the next command.
  template <class Body>
  const event_ref& enqueue_locked(const work_note& note, const Body& body,
                                  std::unique_ptr<std::byte[]> staged = nullptr) {
    // The entry is made first, so that nothing can fail once the command is enqueued.
    pending& entry = pending_.emplace_back();
    cl_event made = nullptr;
    try {
      body(handle_, &made);
    } catch (...) {
      pending_.pop_back();
      throw;
    }
    entry.note = note;
    entry.place = place_of(note);
    entry.staged = std::move(staged);
    entry.done = event_ref(api(), made);
    return entry.done;
  }
  static uint64_t next_number() noexcept;
  const driver_api& api() const noexcept;
  // The caller holds mutex_ for these.
  event_ref mark_locked();
  void submit();
  void look(std::size_t most);  // at the oldest commands: forgets those that are over
  void finish(const pending& command, cl_int status) noexcept;
  void tell();

  // Makes later work wait for an event of the host, which `job` completes when `reached` is over.
  void gate(const event_ref& reached, std::function<void()> work);

  driver& driver_;
  activity_log& log_;
  const cl_command_queue handle_;
  const bool foreign_;
  std::atomic<bool> exposed_;
  std::atomic<uint64_t> number_{next_number()};

  std::mutex mutex_;
  std::deque<pending> pending_;  // the oldest first
  std::size_t not_looked_ = 0;   // commands since the last look
  std::string failure_;          // the first that nobody was told
};

}  // namespace outback::opencl
