// One device: facts from the driver, its streams, and its memory. Every slot with a device uses
// this class.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "backend_template/runtimes/activity_log.hpp"
#include "backend_template/runtimes/address_ranges.hpp"
#include "backend_template/runtimes/memory_budget.hpp"
#include "backend_template/runtimes/opencl/command_queue.hpp"
#include "backend_template/runtimes/opencl/device_clock.hpp"
#include "backend_template/runtimes/opencl/driver.hpp"
#include "backend_template/runtimes/opencl/pointer_memory.hpp"
#include "outback/runtime.h"

namespace outback::opencl {

/// A range that mem_alloc returned, in bytes.
struct allocation {
  void* base;
  std::size_t size;
};

/// The constant facts about a device. The runtime asks the driver for them once.
struct device_facts {
  outback_device_info info = {};
  bool has_priorities = false;  // of queues
  outback_formats formats = {};
  uint64_t local_memory = 0;  // bytes of a group
};

/// `outback_stream` points to this: a handle of a queue, which several streams may share.
struct stream {
  int32_t device;
  std::shared_ptr<command_queue> work;
};

/// Lives as long as the process. May be used from any thread; throws like `check` (result.hpp).
class device {
 public:
  device(driver& of, cl_device_id handle, const pointer_memory& memory, int32_t index)
      : driver_(of), handle_(handle), index_(index), pointers_(memory) {}
  device(const device&) = delete;
  device& operator=(const device&) = delete;

  driver& of() const noexcept { return driver_; }
  cl_device_id handle() const noexcept { return handle_; }
  int32_t index() const noexcept { return index_; }
  /// The driver's calls for the device's memory, and what is allocated by them.
  const pointer_memory& pointers() const noexcept { return pointers_; }
  address_ranges<allocation>& memory() noexcept { return memory_; }
  /// Counts the allocated bytes, because a driver that oversubscribes its devices would never
  /// refuse.
  memory_budget& budget() noexcept { return budget_; }

  /// Returns the facts; the first call asks the driver.
  const device_facts& facts();

  /// Returns the driver's context, and records that the device is in use from now on.
  cl_context context();
  bool active() const noexcept { return active_.load(std::memory_order_relaxed); }

  /// Returns the queue of the default stream; the first call makes it. It is never destroyed.
  command_queue& default_queue();
  /// Returns the queue for the runtime's internal copies, which the runtime waits for.
  command_queue& transfer_queue();

  /// The range of stream priorities. Lower is more urgent.
  int32_t greatest_priority() { return facts().has_priorities ? -1 : 0; }
  int32_t least_priority() { return facts().has_priorities ? 1 : 0; }

  /// Makes a stream, which the device owns until `destroy_stream`. Clamps `priority`. Reuses the
  /// idle queue of a destroyed stream if there is one.
  stream* create_stream(int32_t priority);
  /// Makes a stream for a driver's queue. For a queue of this runtime the stream is another handle
  /// of the same queue. Throws outback::invalid_argument for null, for a queue of another device or
  /// context, and for one that runs its commands out of order.
  stream* wrap_stream(cl_command_queue handle);
  /// Forgets a stream; queued work still runs, and the call does not wait for it. Throws
  /// outback::invalid_argument unless `given` is a stream of this device.
  void destroy_stream(const stream* given);
  /// Waits until all enqueued work is done, on destroyed streams too.
  void sync();

  /// Returns whether the driver may be at work for one of the device's queues.
  bool is_at_work();

  /// The records of the device's work. `record` makes those of work that is done available.
  activity_log& log() noexcept { return log_; }
  void record();
  /// Returns the time now on the clock of the records. Throws outback::unsupported if the driver
  /// does not tell what clock that is.
  int64_t now();

 private:
  // A queue whose last stream was destroyed.
  struct retired {
    std::shared_ptr<command_queue> work;
    int32_t priority;
  };
  struct entry {
    std::unique_ptr<stream> handle;
    int32_t priority;
  };

  std::shared_ptr<command_queue> new_queue(int32_t priority);
  // Removes and returns an idle retired queue, or returns null. The caller holds mutex_.
  std::shared_ptr<command_queue> idle_queue(int32_t priority);
  // Removes and returns the idle retired queues beyond those worth keeping. The caller holds
  // mutex_.
  std::vector<std::shared_ptr<command_queue>> surplus_queues();
  std::vector<std::shared_ptr<command_queue>> all_queues();
  stream* add_stream(std::shared_ptr<command_queue> work, int32_t priority);
  // Returns the queue in `place`, and makes it if `place` is null.
  std::shared_ptr<command_queue> made_once(std::shared_ptr<command_queue>& place);

  driver& driver_;
  const cl_device_id handle_;
  const int32_t index_;
  const pointer_memory pointers_;
  address_ranges<allocation> memory_;
  memory_budget budget_;
  activity_log log_;
  device_clock clock_;
  std::atomic<bool> active_{false};

  std::mutex facts_mutex_;
  std::atomic<const device_facts*> facts_{nullptr};

  std::mutex mutex_;
  std::atomic<command_queue*> default_queue_{nullptr};
  std::shared_ptr<command_queue> default_, transfer_;
  std::vector<entry> streams_;
  std::vector<retired> retired_;
};

}  // namespace outback::opencl
