// One device: what the driver says of it, its streams, and its memory.
#pragma once

#include <level_zero/ze_api.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "backend_template/runtimes/level_zero/allocations.hpp"
#include "backend_template/runtimes/level_zero/detour.hpp"
#include "backend_template/runtimes/level_zero/driver.hpp"
#include "backend_template/runtimes/level_zero/queue.hpp"
#include "backend_template/runtimes/level_zero/sysman.hpp"
#include "backend_template/runtimes/level_zero/timer.hpp"
#include "outback/runtime.h"

namespace outback::level_zero {

/// Of every mem_alloc result. The driver gives whole pages; 64 is what is asked for.
inline constexpr uint32_t memory_alignment = 64;

/// Lower is more urgent: ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_HIGH, NORMAL and PRIORITY_LOW.
inline constexpr int32_t greatest_priority = -1, least_priority = 1;

/// What does not change of a device, from four calls of the driver.
struct device_facts {
  outback_device_info info = {};
  timer clock;
  uint32_t ordinal = 0;  // of the queue group that computes
  uint32_t queues = 1;   // in that group
  std::size_t longest_pattern = 1;
  uint64_t largest_plain_alloc = 0;  // above, an allocation needs relaxed limits
};

/// What `outback_stream` points to.
struct stream {
  int32_t device;
  std::shared_ptr<queue> work;
};

/// Lives as long as the process. May be used from any thread; throws like `check`.
class device {
 public:
  device(driver& of, ze_device_handle_t handle, int32_t index)
      : driver_(of), handle_(handle), index_(index), sensors_(of.api()), detours_(of) {}
  device(const device&) = delete;
  device& operator=(const device&) = delete;

  driver& of() const noexcept { return driver_; }
  ze_device_handle_t handle() const noexcept { return handle_; }
  int32_t index() const noexcept { return index_; }
  allocations& memory() noexcept { return memory_; }
  sysman& sensors() noexcept { return sensors_; }
  detour_blocks& detours() noexcept { return detours_; }

  const device_facts& facts();

  /// The driver's context, which the device is in use in from now on.
  ze_context_handle_t context();
  bool active() const noexcept { return active_.load(std::memory_order_relaxed); }

  bool lost() const noexcept { return lost_.load(std::memory_order_relaxed); }
  void lose() noexcept { lost_.store(true, std::memory_order_relaxed); }

  queue& default_queue();
  /// For copies that the runtime makes of its own accord, and waits for.
  queue& transfer_queue();

  stream* create_stream(int32_t priority);
  /// `handle` is a list of ours, of which this becomes another handle, or somebody else's.
  stream* wrap_stream(ze_command_list_handle_t handle);
  /// Throws outback::invalid_argument unless it is a stream of this device's.
  void destroy_stream(const stream* given);
  /// Returns when everything that was enqueued is done, on destroyed streams too.
  void sync();

 private:
  struct retired {
    std::shared_ptr<queue> work;
    slot_ref last;  // complete when the queue is idle; empty: ask it
    int32_t priority;
    bool waited_for;
  };
  struct entry {
    std::unique_ptr<stream> handle;
    int32_t priority;
  };

  std::shared_ptr<queue> new_queue(int32_t priority);
  // mutex_ is held; the second lets go of it for a moment.
  std::shared_ptr<queue> idle_queue(int32_t priority);
  std::shared_ptr<queue> spare_queue(int32_t priority, std::unique_lock<std::mutex>& lock);
  /// Of retired ones that are idle, those that are not worth keeping. mutex_ is held.
  std::vector<std::shared_ptr<queue>> surplus_queues();
  std::shared_ptr<queue> made_once(std::shared_ptr<queue>& place);

  driver& driver_;
  const ze_device_handle_t handle_;
  const int32_t index_;
  allocations memory_;
  sysman sensors_;
  detour_blocks detours_;
  std::atomic<bool> active_{false}, lost_{false};

  std::mutex facts_mutex_;
  std::atomic<const device_facts*> facts_{nullptr};

  std::mutex mutex_;
  std::atomic<queue*> default_queue_{nullptr};
  std::shared_ptr<queue> default_, transfer_;
  std::vector<entry> streams_;
  std::vector<retired> retired_;  // of destroyed streams: to be used again once they are idle
  std::atomic<uint32_t> next_index_{0};
};

}  // namespace outback::level_zero
