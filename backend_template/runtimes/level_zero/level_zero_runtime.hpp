// Intel's GPUs (oneAPI Level Zero), through the system's loader. The list below says how the
// runtime behaves where the API leaves a choice. A project includes level_zero.h.
//
//   Loading    Nothing is linked. The first slot that needs a device opens libze_loader.so.1 and
//              initialises its drivers. If this fails there are no devices, the runtime does not
//              call the loader again, and the other slots say why.
//   Devices    The devices are the GPUs that zeDeviceGet lists, so ZE_AFFINITY_MASK and
//              ZE_FLAT_DEVICE_HIERARCHY apply. Each driver has one context, which is made when one
//              of its devices is first used.
//   Streams    Streams are immediate command lists on the queue group for computing. The lists keep
//              their order by themselves if the driver supports this, and by barriers otherwise;
//              see command_queue.hpp. When a stream is destroyed and its list is idle, another
//              stream gets the list, or the list is destroyed.
//   Native     Handles are the driver's: device, context, command list, event. Commands that other
//              code appends to a list keep their order with the runtime's commands, but if barriers
//              keep the order, the other code must append a barrier after each command. An event's
//              handle is valid until the next recording, which uses another driver event.
//   Copies     A small copy from pageable memory is staged. The slot waits for a larger copy from
//              pageable memory and for every copy to pageable memory. Between devices that cannot
//              reach each other the host copies through pinned memory, and the copy is done when
//              the slot returns.
//   Fills      The driver fills with the patterns that it supports. For longer patterns
//              fill_pattern.hpp writes the pattern once and doubles the filled part with copies. No
//              fill waits for the device.
//   Pinned     Pinned memory comes from zeMemAllocHost. Other memory cannot be pinned, because API
//              versions before external memory have no call for it. So the group host_registration
//              is missing.
//   Memory     The runtime gives a process no more memory than the device has, because a driver may
//              oversubscribe its devices and never report that memory is short. `memory_usage`
//              comes from Sysman, if there is Sysman.
//   Callbacks  Each stream runs its callbacks on its own thread, while the device waits: see
//              host_worker.hpp.
//   Shared     Processes share memory by the driver's descriptors, and events by a file in which
//              host threads write the recordings: see shared_recordings.hpp. The driver could share
//              its event pools too, but then all processes would have to agree which event of a
//              pool is meant, and when it may be reset.
//   Fork       In a child that was forked after the drivers were initialised, only device_count and
//              host_memory.info work.
//   Kernels    Modules are SPIR-V. A kernel object of the driver holds the arguments of the next
//              launch, so that setting them and launching take a lock, one for each kernel. A
//              module that is unloaded stays in the driver until all work that was enqueued by then
//              is done: a later call for a module, or device_sync, gives it back.
//   Graphs     There are no graphs: the API has no capture before 1.17.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "backend_template/runtimes/handles.hpp"
#include "backend_template/runtimes/level_zero/blame.hpp"
#include "backend_template/runtimes/level_zero/options.hpp"
#include "backend_template/runtimes/level_zero/platform.hpp"
#include "backend_template/runtimes/level_zero/shared_memory.hpp"
#include "backend_template/runtimes/slot_members.hpp"
#include "outback/runtime.hpp"

namespace outback::level_zero {

class event;
class kernel;
class module;

/// A class for `outback::table_of`. outback/runtime.h says what each member must do. There is one
/// object, which lives as long as the process, because drivers are initialised once. Members may be
/// called from any thread at any time. They throw like `check` (result.hpp). They also throw
/// outback::device_lost for a lost device, and outback::invalid_argument for a device that does not
/// exist and for a stream or event of another device. Beyond the contract:
///
///   device_count       Initialises the drivers: a child that is forked afterwards cannot use the
///                      devices. Makes no context.
///   mem_alloc          Throws outback::out_of_memory also if the process would get more memory
///                      than the device has. Makes the memory resident on the devices that may
///                      access this device.
///   mem_free           Throws outback::invalid_argument unless `ptr` is null or a pointer that
///                      mem_alloc returned for this device. If the driver fails, the memory stays
///                      allocated.
///   mem_copy           Waits for the stream if one side is pageable memory, unless the copy was
///                      staged (from the host, up to 64 KiB), and between devices that cannot reach
///                      each other.
///   stream_query       If other code has the stream's list, the call may wait up to 200 ms with a
///                      loader or driver that is older than API 1.6.
///   event_wait         If `event` belongs to another driver, a host thread waits for it. If the
///                      event's device is lost meanwhile, the stream goes on, and the stream's next
///                      sync or query throws outback::runtime_error.
///   event_elapsed      Uses the device's clock. Throws outback::invalid_argument for events of two
///                      devices.
///   host_alloc         Returns pinned memory from the driver of the first device that is not lost.
///   host_free          Works until the process ends, even if all devices are lost.
///   host_info          Asks each driver that has a context. In a forked child all memory counts as
///                      pageable.
///   device_select      Only checks the index: the driver has no current device.
///   memory_usage       Returns Sysman's numbers. Without Sysman, free memory is the device's size
///                      minus the memory of this process. Never reports more free memory than
///                      mem_alloc would give.
///   peer_can_access    False for devices of two drivers.
///   peer_enable        Makes all memory of `peer` resident on `device`.
///   native_stream      Returns the command list. From then on the runtime expects other code to
///                      append to the list, so it can no longer tell cheaply whether the stream is
///                      idle.
///   native_event       Returns a complete driver event if `event` was never recorded. Throws
///                      outback::unsupported for an event of several processes.
///   native_wrap_stream Does not check that the list belongs to `device`.
///   module_load        Throws outback::unsupported for formats other than SPIR-V. The text has the
///                      driver's build log, unless the loader has put itself between the runtime
///                      and several drivers: then reading the log might crash.
///   module_unload      Works for a lost device too. If the driver fails, the module is gone all
///   the
///                      same.
///   kernel_launch      Throws outback::invalid_argument for a kernel with local memory in another
///                      place than its last parameter. The driver checks pointers, or does not.
///   telemetry_read     Returns Sysman's measurements; OUTBACK_METRIC_MEMORY_USED is the runtime's
///                      own count. Throws outback::unsupported without Sysman.
class level_zero_runtime {
 public:
  /// Does not load the loader yet.
  explicit level_zero_runtime(const level_zero_options& options) : options_(options) {}
  level_zero_runtime(const level_zero_runtime&) = delete;
  level_zero_runtime& operator=(const level_zero_runtime&) = delete;

  OUTBACK_MEMBERS_OF(runtime)
  OUTBACK_MEMBERS_OF(streams)
  OUTBACK_MEMBERS_OF(events)
  OUTBACK_MEMBERS_OF(host_memory)
  OUTBACK_MEMBERS_OF(device_state)
  OUTBACK_MEMBERS_OF(peer)
  OUTBACK_MEMBERS_OF(native)
  OUTBACK_MEMBERS_OF(callbacks)
  OUTBACK_MEMBERS_OF(ipc)
  OUTBACK_MEMBERS_OF(telemetry)
  OUTBACK_MEMBERS_OF(kernels)

 private:
  // Returns the platform, which the first call makes.
  platform& there();
  // Returns the device with this index, even if it is lost. Throws if there is no such device, and
  // in a forked child.
  device& listed(int32_t index);
  // Like `listed`, but throws outback::device_lost for a lost device.
  device& at(int32_t index);
  // Runs `body(device)`. If `body` throws outback::device_lost, the device is lost from then on,
  // unless `body` has blamed another device.
  template <class Body>
  auto on(int32_t index, const Body& body) {
    device& d = at(index);
    return blame(d, [&] { return body(d); });
  }
  // Returns the platform for calls about host memory, which belongs to no device. Throws
  // outback::unsupported if there are no devices. Also throws in a forked child.
  const platform& usable();
  // Returns the first device that is not lost. Throws outback::device_lost if all devices are lost.
  device& host_device();
  // Return the queue or event behind a handle. Throw outback::invalid_argument if it belongs to
  // another device.
  command_queue& queue_of(device& d, outback_stream stream);
  event& event_of(const device& d, outback_event handle) const;
  // Return what a handle stands for. Throw outback::invalid_argument if it belongs to another
  // device.
  module& module_of(const device& d, outback_module handle) const;
  kernel& kernel_at(const device& d, outback_kernel handle) const;

  void copy_from_host(device& d, command_queue& q, void* dst, const void* src, std::size_t size);
  void copy_to_host(device& d, command_queue& q, void* dst, const void* src, std::size_t size);
  void copy_between(device& from, command_queue& q, device& to, void* dst, const void* src,
                    std::size_t size);
  // Returns whether the whole range lies in one allocation of the driver. Copies can use such a
  // range asynchronously.
  bool pinned(device& d, const void* ptr, std::size_t size);
  // Returns whether `from` can access memory of `to` directly. False if both are the same device,
  // and for devices of two drivers.
  bool can_reach(device& from, device& to);
  // Makes new memory of `owner` resident on the devices that may access it.
  void make_resident(device& owner, void* ptr, std::size_t size);

  const level_zero_options options_;
  std::mutex platform_mutex_;
  std::atomic<platform*> platform_{nullptr};

  address_ranges<pinned_memory> pinned_;

  // Guards peers_. Also held while memory is made resident or evicted, so that mem_alloc or
  // peer_enable handles memory that is allocated while a peer is enabled.
  std::mutex peers_mutex_;
  std::set<std::pair<int32_t, int32_t>> peers_;  // a device, and a peer whose memory it may access
  std::atomic<bool> any_peers_{false};

  shared_memory shared_;
};

}  // namespace outback::level_zero
