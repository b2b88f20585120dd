// A queue: an immediate command list that runs its commands in order. A stream is a handle of a
// queue.
//
// The list keeps order by itself if the driver has the in-order flag; otherwise a barrier follows
// each command. Appending takes a mutex, because a list is for one thread at a time. The queue
// never holds the mutex while it waits for the device.
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

/// May be used from any thread. Functions throw like `check`, and enqueue no work if they throw. If
/// host work could not run, `idle` or `sync` also throws the reason, once.
class command_queue {
 public:
  enum class order { by_list, by_barriers };

  /// Takes over `list`, which the destructor destroys unless the list is foreign. A foreign list
  /// was made by other code, which may append to it too and must destroy it.
  command_queue(driver& of, ze_command_list_handle_t list, order how, bool foreign)
      : driver_(of), list_(list), order_(how), foreign_(foreign), exposed_(foreign), staging_(of) {}
  /// The queue must be idle.
  ~command_queue();
  command_queue(const command_queue&) = delete;
  command_queue& operator=(const command_queue&) = delete;

  ze_command_list_handle_t list() const noexcept { return list_; }
  driver& of() const noexcept { return driver_; }
  bool foreign() const noexcept { return foreign_; }
  /// Returns whether other code may append to the list unseen. If so, the counters below do not
  /// count all work of the list.
  bool exposed() const noexcept { return exposed_.load(std::memory_order_acquire); }
  /// Records that other code has the list.
  void expose() noexcept { exposed_.store(true, std::memory_order_release); }
  /// Records that no other code has the list any more. A foreign list stays exposed.
  void reclaim() noexcept { exposed_.store(foreign_, std::memory_order_release); }

  /// Appends one command: calls the driver's function `command` with the list, `arguments` and no
  /// events.
  template <class F, class... Arguments>
  void append(const library_function<F>& command, Arguments... arguments) {
    const std::lock_guard lock(mutex_);
    before_command();
    call(command, list_, arguments..., ze_event_handle_t{}, 0u, nullptr);
    after_command(leaves::unordered);
  }

  /// Does the same, and returns a pooled event that is complete when the command, and so all
  /// earlier work, is done.
  template <class F, class... Arguments>
  event_ref append_signalling(const library_function<F>& command, Arguments... arguments) {
    const std::lock_guard lock(mutex_);
    return append_event(events().acquire(), command, arguments...);
  }

  /// Returns a pooled event that is complete when all work that was enqueued before is done. With
  /// `timed`, the event's timestamp then holds the device's clock at that moment.
  event_ref record(bool timed);

  /// Returns a pooled event that is complete when the list is entirely idle, for a stream that is
  /// destroyed. An event from `record` is not enough, since a barrier may follow the recording.
  /// Returns an empty reference if no work was ever enqueued.
  event_ref close_off();

  /// Returns a pooled event that is complete when all work that was enqueued before is done, for
  /// something that this work uses. Returns an empty reference if it is known that the work is
  /// done.
  event_ref pending();

  /// Makes later work wait until `signal` is complete. `signal` must belong to the same driver, and
  /// the caller must just have seen that it is not complete. The caller does not wait.
  void wait_for(const event_ref& signal);

  /// Copies at most `staging_size` bytes. The caller may change the source once the call has
  /// returned. Returns false, and enqueues nothing, if all staging blocks are in use.
  bool copy_staged(void* dst, const void* src, std::size_t size);

  /// Runs `work` on this queue's own thread after all work that was enqueued before; later work
  /// runs after `work` has returned. If the queue fails meanwhile, `work` does not run. Calls
  /// `accepted` when the call is sure to enqueue `work`, before `work` runs; `accepted` must
  /// neither throw nor call the queue.
  void enqueue_host_work(std::function<void()> work,
                         const std::function<void()>& accepted = nullptr);

  /// Returns whether all enqueued work is done. Costs one atomic load if the answer is known to be
  /// yes. For an exposed queue the call may wait up to 200 ms, unless loader and driver have
  /// zeCommandListHostSynchronize: see command_queue.cpp.
  bool idle();

  /// Waits until all work that was enqueued before the call is done.
  void sync();

 private:
  // Whether a command leaves the next command unordered, so that a barrier is needed in between.
  enum class leaves { unordered, ordered };
  // A wait in the list. Its event must not be reused before the device has passed the wait.
  struct held {
    uint64_t position;  // number of the command that waits for the event
    event_ref signal;
  };
  // A place in the list, and the pooled event that stands for it.
  struct marked {
    uint64_t position = 0;  // once the event is complete, all commands up to here are done
    event_ref signal;
    bool is_last = false;  // no barrier follows the command that signals it
  };

  // The caller holds mutex_ for these.
  void before_command();
  void after_command(leaves how) noexcept;
  event_ref append_barrier_event();
  event_ref mark();  // an event behind all commands: the latest event, or a new one
  void make_room_to_hold();
  void hold(const event_ref& signal) noexcept;
  void release_passed() noexcept;

  // Appends a command that signals `signal`, and returns `signal`.
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
