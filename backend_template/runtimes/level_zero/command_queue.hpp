// A queue: an immediate command list that runs its commands in order. A stream is a handle of one.
//
// The list keeps order by itself if the driver has the in-order flag; otherwise a barrier follows
// each command. Appending takes a mutex, because a list is for one thread at a time. Nothing waits
// for the device with the mutex held.
#pragma once

#include <level_zero/ze_api.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "backend_template/runtimes/level_zero/event_pool.hpp"
#include "backend_template/runtimes/level_zero/host_worker.hpp"
#include "backend_template/runtimes/level_zero/result.hpp"
#include "backend_template/runtimes/level_zero/staging.hpp"

namespace outback::level_zero {

/// May be used from any thread. Functions throw like `check`; one that threw has enqueued no work.
/// `idle` and `sync` also throw, once, what kept host work from running.
class command_queue {
 public:
  enum class order { by_list, by_barriers };

  /// Takes over `list`, which the destructor destroys unless the list is foreign. A foreign list
  /// was made by somebody else, who may append to it too and destroys it.
  command_queue(driver& of, ze_command_list_handle_t list, order how, bool foreign)
      : driver_(of), list_(list), order_(how), foreign_(foreign), exposed_(foreign), staging_(of) {}
  /// The queue must be idle.
  ~command_queue();
  command_queue(const command_queue&) = delete;
  command_queue& operator=(const command_queue&) = delete;

  ze_command_list_handle_t list() const noexcept { return list_; }
  driver& of() const noexcept { return driver_; }
  bool foreign() const noexcept { return foreign_; }
  /// Whether somebody else may append to the list unseen. Then the counters below do not say what
  /// the list has to do.
  bool exposed() const noexcept { return exposed_.load(std::memory_order_acquire); }
  /// Notes that somebody else has got the list.
  void expose() noexcept { exposed_.store(true, std::memory_order_release); }
  /// Notes that nobody else has the list any more. A foreign one stays exposed.
  void reclaim() noexcept { exposed_.store(foreign_, std::memory_order_release); }

  /// Appends one command: calls the driver's function `command` with the list, these arguments, and
  /// no events.
  template <class F, class... Arguments>
  void append(const library_function<F>& command, Arguments... arguments) {
    const std::lock_guard lock(mutex_);
    before_command();
    call(command, list_, arguments..., ze_event_handle_t{}, 0u, nullptr);
    after_command(leaves::unordered);
  }

  /// Does the same, and returns a pooled event that is complete when the command, and so all before
  /// it, is done.
  template <class F, class... Arguments>
  event_ref append_signalling(const library_function<F>& command, Arguments... arguments) {
    const std::lock_guard lock(mutex_);
    return append_event(events().acquire(), command, arguments...);
  }

  /// Returns a pooled event that is complete when everything that was enqueued before is done. With
  /// `timed`, the event's timestamp then has the device's clock of that moment.
  event_ref record(bool timed);

  /// Returns a pooled event that is complete when the list has nothing left to do, for a stream
  /// that goes. An event of `record` may not do, since a barrier may follow the recording. Empty if
  /// nothing was ever enqueued.
  event_ref close_off();

  /// Makes what is enqueued later wait until `signal`, which is of the same driver and was not
  /// complete just now, is complete. The caller does not wait.
  void wait_for(const event_ref& signal);

  /// Copies at most `staging_size` bytes from memory that the caller may change once this returned.
  /// Returns false, and enqueues nothing, if all staging blocks are in use.
  bool copy_staged(void* dst, const void* src, std::size_t size);

  /// Runs `work` on this queue's own thread after everything that was enqueued before; what is
  /// enqueued later runs after `work` has returned. If the queue fails meanwhile, `work` does not
  /// run. `accepted` is called once nothing can keep the call from enqueueing `work`, and before it
  /// runs; it must neither throw nor call the queue.
  void enqueue_host_work(std::function<void()> work,
                         const std::function<void()>& accepted = nullptr);

  /// Whether everything that was enqueued is done. One atomic load if that is known already. For an
  /// exposed queue it may wait up to 200 ms, unless loader and driver have
  /// zeCommandListHostSynchronize: see command_queue.cpp.
  bool idle();

  /// Returns when everything that was enqueued before the call is done.
  void sync();

 private:
  // Whether a command leaves the next one unordered, so that it needs a barrier in between.
  enum class leaves { unordered, ordered };
  // A wait in the list. Its event must not be used again before the device is past it.
  struct held {
    uint64_t position;  // number of the command that waits for the event
    event_ref signal;
  };
  // A place in the list that a pooled event stands for.
  struct marked {
    uint64_t position = 0;  // all commands up to here are done when the event is complete
    event_ref signal;
    bool is_last = false;  // no barrier follows the command that signals it
  };

  // The caller holds mutex_ for these.
  void before_command();
  void after_command(leaves how) noexcept;
  event_ref append_barrier_event();
  event_ref mark();  // an event behind all commands: the latest, or a new one
  void make_room_to_hold();
  void hold(const event_ref& signal) noexcept;
  void release_passed() noexcept;

  // Appends a command that signals `signal`, and returns that.
  template <class F, class... Arguments>
  event_ref append_event(event_ref signal, const library_function<F>& command,
                         Arguments... arguments) {
    before_command();
    call(command, list_, arguments..., signal->handle, 0u, nullptr);
    signal->appended.store(true, std::memory_order_relaxed);
    after_command(leaves::unordered);
    latest_ = {appended_.load(std::memory_order_relaxed), signal, order_ == order::by_list};
    return signal;
  }
  event_pool& events() noexcept;
  bool known_idle(uint64_t goal) const noexcept {
    return !exposed() && completed_.load(std::memory_order_acquire) >= goal;
  }
  void raise_completed(uint64_t position) noexcept;
  void completed(uint64_t position);  // the caller does not hold mutex_
  ze_result_t barrier(ze_event_handle_t signal, ze_event_handle_t wait) const;

  driver& driver_;
  const ze_command_list_handle_t list_;
  const order order_;
  const bool foreign_;
  std::atomic<bool> exposed_;
  std::atomic<uint64_t> appended_{0};   // commands so far; written under mutex_
  std::atomic<uint64_t> completed_{0};  // how many of them are known to be done

  std::mutex mutex_;
  bool unordered_ = false;  // the last command still needs a barrier behind it
  marked latest_;
  marked passing_;  // an older place, kept until it is complete: see make_room_to_hold
  std::vector<held> held_;
  std::atomic<bool> holds_{false};
  staging staging_;
  host_worker worker_;
};

}  // namespace outback::level_zero
