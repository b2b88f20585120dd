// Events and their pools.
#pragma once

#include <level_zero/ze_api.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "tests/fakes/level_zero/context.hpp"
#include "tests/fakes/level_zero/device.hpp"
#include "tests/fakes/level_zero/signal.hpp"

namespace outback::software_ze {

/// The places of events. An interprocess pool's are in a file in memory, which another process
/// opens.
class event_pool {
 public:
  static constexpr uint8_t handle_kind = 7;
  static constexpr const char* noun = "event pool";

  /// With `file`, which becomes the pool's, a pool of another process. Throws std::system_error.
  event_pool(std::shared_ptr<context> of, std::vector<std::shared_ptr<device>> on,
             ze_event_pool_flags_t flags, uint32_t count, uint32_t counter_based, int file = -1);
  ~event_pool();
  event_pool(const event_pool&) = delete;
  event_pool& operator=(const event_pool&) = delete;

  const std::shared_ptr<context> of;
  const std::vector<std::shared_ptr<device>> on;
  const ze_event_pool_flags_t flags;
  const uint32_t count;
  const uint32_t counter_based;  // counter_based_immediate and so on, or 0: events that are reset
  const bool opened;             // another process made it
  const membership member{*of};

  signal_state* place(uint32_t index) const noexcept { return places_ + index; }
  int file() const noexcept { return file_; }

  /// False if an event has it.
  bool take_place(uint32_t index);
  void give_place(uint32_t index);
  uint32_t places_taken() const;

 private:
  int file_ = -1;
  std::size_t size_ = 0;
  signal_state* places_ = nullptr;
  mutable std::mutex mutex_;
  std::vector<bool> taken_;
};

/// May be used from any thread.
class event {
 public:
  static constexpr uint8_t handle_kind = 8;
  static constexpr const char* noun = "event";

  /// The place `index` of the pool must have been taken for it.
  event(std::shared_ptr<event_pool> pool, uint32_t index);
  /// Gives the place back. Once: when the event is destroyed, which may be before the last list
  /// that knows it goes.
  void leave_pool() { pool->give_place(index); }

  const std::shared_ptr<event_pool> pool;
  const uint32_t index;
  /// Of commands that wait for it or signal it and are not done.
  std::atomic<int64_t> in_flight{0};
  std::atomic<bool> destroyed{false};

  /// What a wait, from now on, waits for: of a counter-based event, its last signal.
  signal_pointer current() const;
  /// What a command signals: of a counter-based event, a new state, that is `current` from now on.
  signal_pointer next();

  /// The device whose list signals it was the last to be told so; its loss ends waits. Null: none
  /// was.
  std::atomic<device*> signaller{nullptr};

 private:
  mutable std::mutex mutex_;
  signal_pointer state_;  // guarded by mutex_
};

/// When the command that signalled it began and ended, in the bits that kernel timestamps have.
ze_kernel_timestamp_result_t kernel_timestamps(const signal_state& of);

}  // namespace outback::software_ze
