// An immediate command list that runs its commands in order: what a stream is a handle of.
//
// The list keeps order by itself (the in-order flag) or, where the driver cannot, by a barrier
// after each command. Appending takes a mutex, since a list is for one thread at a time; nothing
// waits for the device with the mutex held.
#pragma once

#include <level_zero/ze_api.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "backend_template/runtimes/level_zero/event_slots.hpp"
#include "backend_template/runtimes/level_zero/host_worker.hpp"
#include "backend_template/runtimes/level_zero/result.hpp"
#include "backend_template/runtimes/level_zero/staging.hpp"

namespace outback::level_zero {

/// May be used from any thread. Members throw like `check`; what threw enqueued nothing.
class queue {
 public:
  enum class order { by_list, by_barriers };

  /// `list` is never destroyed. A `foreign` one was made by somebody else, who may append to it
  /// too.
  queue(driver& of, ze_command_list_handle_t list, order how, bool foreign)
      : driver_(of), list_(list), order_(how), foreign_(foreign), exposed_(foreign), staging_(of) {}
  /// The queue is idle.
  ~queue();
  queue(const queue&) = delete;
  queue& operator=(const queue&) = delete;

  ze_command_list_handle_t list() const noexcept { return list_; }
  driver& of() const noexcept { return driver_; }
  bool foreign() const noexcept { return foreign_; }
  bool exposed() const noexcept { return exposed_.load(std::memory_order_acquire); }
  /// Somebody else has got the list, and may append to it unseen.
  void expose() noexcept { exposed_.store(true, std::memory_order_release); }
  /// Nobody else has it any more.
  void reclaim() noexcept { exposed_.store(foreign_, std::memory_order_release); }

  /// `command(event)` appends one command, which signals `event` unless that is null, and answers
  /// what the driver said. `call` is the entry point's name.
  template <class Command>
  void append(const char* call, const Command& command) {
    const std::lock_guard lock(mutex_);
    before_command();
    check(command(nullptr), call);
    after_command(leaves::unordered);
  }

  /// The same; the slot tells when the command, and so all before it, is done.
  template <class Command>
  slot_ref append_signalling(const char* call, const Command& command) {
    const std::lock_guard lock(mutex_);
    return append_slot(call, command);
  }

  /// A slot that is complete when all that was enqueued before is done. With `timed`, its timestamp
  /// then says when that was.
  slot_ref record(bool timed);

  /// A slot that is complete when the list has nothing left to do: a recording may leave a barrier
  /// behind it. Empty where nothing was ever enqueued.
  slot_ref close_off();

  /// What is enqueued later runs after `slot`, which is of the same driver, is complete.
  void wait_for(const slot_ref& slot);

  /// From memory that the caller may change when this returned; at most `staging_size` bytes.
  /// False, and nothing was enqueued, where too much is on its way already.
  bool copy_staged(void* dst, const void* src, std::size_t size);

  /// Runs `work` on a thread of this queue's own after everything before; what is enqueued later
  /// runs after `work` returned. Where the queue fails meanwhile, `work` does not run.
  void enqueue_host_work(std::function<void()> work);

  /// Whether everything that was enqueued is done. One atomic load where that is known.
  bool idle();

  /// Returns when everything that was enqueued before the call is done.
  void sync();

 private:
  enum class leaves { unordered, ordered };
  struct held {
    uint64_t position;  // of the command that waits for the slot
    slot_ref slot;
  };
  struct marked {
    uint64_t position = 0;  // all up to here is done when the slot is complete
    slot_ref slot;
    bool is_last = false;  // the list has nothing behind the command that signals it
  };

  // mutex_ is held for these.
  void before_command();
  void after_command(leaves how) noexcept;
  slot_ref append_barrier_slot();
  slot_ref mark();  // the latest slot, if nothing came after it, or a new one
  void make_room_to_hold();
  void hold(const slot_ref& slot) noexcept;
  void release_passed() noexcept;

  template <class Command>
  slot_ref append_slot(const char* call, const Command& command) {
    slot_ref slot = slots().acquire();
    before_command();
    check(command(slot->event), call);
    slot->appended.store(true, std::memory_order_relaxed);
    after_command(leaves::unordered);
    latest_ = {appended_.load(std::memory_order_relaxed), slot, order_ == order::by_list};
    return slot;
  }

  event_slots& slots() noexcept;
  bool known_idle(uint64_t goal) const noexcept {
    return !exposed() && completed_.load(std::memory_order_acquire) >= goal;
  }
  void raise_completed(uint64_t position) noexcept;
  void completed(uint64_t position);  // mutex_ is not held
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
  marked passing_;  // an older one, kept until it is complete
  std::vector<held> held_;
  std::atomic<bool> holds_{false};
  staging staging_;
  host_worker worker_;
};

}  // namespace outback::level_zero
