// One device: facts from the driver, its streams, and its memory. Every slot with a device uses
// this class.
#pragma once

#include <level_zero/ze_api.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "backend_template/runtimes/level_zero/allocations.hpp"
#include "backend_template/runtimes/level_zero/command_queue.hpp"
#include "backend_template/runtimes/level_zero/driver.hpp"
#include "backend_template/runtimes/level_zero/sysman.hpp"
#include "backend_template/runtimes/level_zero/timer.hpp"
#include "backend_template/runtimes/memory_budget.hpp"
#include "outback/runtime.h"

namespace outback::level_zero {

/// The range of stream priorities. Lower is more urgent: -1 is
/// ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_HIGH, 0 is NORMAL and 1 is PRIORITY_LOW.
inline constexpr int32_t greatest_priority = -1, least_priority = 1;

/// The constant facts about a device. The runtime asks the driver for them once.
struct device_facts {
  outback_device_info info = {};
  timer clock;
  uint32_t ordinal = 0;              // of the queue group for computing
  uint32_t queues = 1;               // in that group
  std::size_t longest_pattern = 1;   // bytes of a fill's pattern; a power of two
  uint64_t largest_plain_alloc = 0;  // bytes; larger allocations need relaxed limits
  // What a launch may have: groups, items of a group, and bytes of a group's local memory.
  std::array<uint32_t, 3> most_groups = {}, most_items = {};
  uint32_t most_local = 0;
  uint32_t newest_spirv = 0;  // as in a module: see spirv_version; 0: not known
};

/// `outback_stream` points to this: a handle of a queue, which several streams may share.
struct stream {
  int32_t device;
  std::shared_ptr<command_queue> work;
};

/// Something of the driver's that work in a queue uses. The destructor gives it back to the driver.
class in_use_object {
 public:
  in_use_object() = default;
  virtual ~in_use_object() = default;
  in_use_object(const in_use_object&) = delete;
  in_use_object& operator=(const in_use_object&) = delete;
};

/// Lives as long as the process. May be used from any thread; throws like `check` (result.hpp).
class device {
 public:
  device(driver& of, ze_device_handle_t handle, int32_t index)
      : driver_(of), handle_(handle), index_(index), sensors_(of.api()) {}
  device(const device&) = delete;
  device& operator=(const device&) = delete;

  driver& of() const noexcept { return driver_; }
  ze_device_handle_t handle() const noexcept { return handle_; }
  int32_t index() const noexcept { return index_; }
  allocations& memory() noexcept { return memory_; }
  /// Counts the allocated bytes, because a driver that oversubscribes its devices would never
  /// refuse.
  memory_budget& budget() noexcept { return budget_; }
  sysman& sensors() noexcept { return sensors_; }
  /// Pinned memory that a copy has left for the next copy, or null: see level_zero_copy.cpp.
  std::atomic<void*>& kept_detour() noexcept { return kept_detour_; }

  /// Returns the facts; the first call asks the driver.
  const device_facts& facts();

  /// Returns the driver's context, and records that the device is in use from now on.
  ze_context_handle_t context();
  bool active() const noexcept { return active_.load(std::memory_order_relaxed); }

  /// Returns whether the driver has reported the device as lost. `lose` marks it as lost for good.
  bool lost() const noexcept { return lost_.load(std::memory_order_relaxed); }
  void lose() noexcept { lost_.store(true, std::memory_order_relaxed); }
  /// Asks the driver whether the device is lost.
  bool gone() const noexcept;

  /// Returns the queue of the default stream; the first call makes it. It is never destroyed.
  command_queue& default_queue();
  /// Returns the queue for the runtime's internal copies, which the runtime waits for.
  command_queue& transfer_queue();

  /// Makes a stream, which the device owns until `destroy_stream`. Clamps `priority`. Reuses the
  /// idle list of a destroyed stream if there is one.
  stream* create_stream(int32_t priority);
  /// Makes a stream for a command list. For a list of this runtime the stream is another handle of
  /// its queue. For a foreign list the stream gets a new queue, and the caller keeps the list
  /// alive. Throws outback::invalid_argument for null.
  stream* wrap_stream(ze_command_list_handle_t handle);
  /// Forgets a stream; queued work still runs, and the call does not wait for it. Throws
  /// outback::invalid_argument unless `given` is a stream of this device. If the driver fails, the
  /// stream is still destroyed.
  void destroy_stream(const stream* given);
  /// Waits until all enqueued work is done, on destroyed streams too.
  void sync();

  /// Destroys `object` when all work is done that is enqueued now. Does not wait: what is not done
  /// yet is looked at again by later calls, and by `sync` and `release_done`. If the driver fails,
  /// throws, and the object is destroyed by a `sync`.
  void destroy_when_done(std::unique_ptr<in_use_object> object);
  /// Keeps `object` as long as the process runs, for a device that is lost.
  void keep_for_good(std::unique_ptr<in_use_object> object) {
    keep({std::move(object), {}, false});
  }
  /// Destroys those objects of `destroy_when_done` whose work is done by now.
  void release_done();

 private:
  // A queue whose last stream was destroyed.
  struct retired {
    std::shared_ptr<command_queue> work;
    event_ref last;  // complete when the queue is idle; if empty, ask the queue
    int32_t priority;
    bool idle() const { return last ? last.complete() : work->idle(); }
  };
  struct entry {
    std::unique_ptr<stream> handle;
    int32_t priority;
  };

  // An object that waits for its end.
  struct kept {
    std::unique_ptr<in_use_object> object;
    std::vector<event_ref> until;  // complete when the object is not in use
    bool is_known = true;          // or false: only `sync` finds out that it is not in use
    bool done() const;
  };
  // What a device waits for: queues and, of destroyed streams, the last events.
  struct work {
    std::vector<std::shared_ptr<command_queue>> queues;
    std::vector<event_ref> last;
  };

  work enqueued();  // takes mutex_
  void keep(kept one);
  std::shared_ptr<command_queue> new_queue(int32_t priority);
  // Removes and returns an idle retired queue, or returns null. The caller holds mutex_.
  std::shared_ptr<command_queue> idle_queue(int32_t priority);
  // Removes and returns the idle retired queues beyond those worth keeping. The caller holds
  // mutex_.
  std::vector<std::shared_ptr<command_queue>> surplus_queues();
  // Returns the queue in `place`, and makes it if `place` is null.
  std::shared_ptr<command_queue> made_once(std::shared_ptr<command_queue>& place);

  driver& driver_;
  const ze_device_handle_t handle_;
  const int32_t index_;
  allocations memory_;
  memory_budget budget_;
  sysman sensors_;
  std::atomic<void*> kept_detour_{nullptr};
  std::atomic<bool> active_{false}, lost_{false};

  std::mutex facts_mutex_;
  std::atomic<const device_facts*> facts_{nullptr};

  std::mutex mutex_;
  std::atomic<command_queue*> default_queue_{nullptr};
  std::shared_ptr<command_queue> default_, transfer_;
  std::vector<entry> streams_;
  std::vector<retired> retired_;  // reused once they are idle
  std::vector<std::shared_ptr<command_queue>>
      abandoned_;  // foreign queues: not known when they are idle
  std::vector<kept> kept_;
  std::atomic<uint32_t> next_index_{0};
};

}  // namespace outback::level_zero
