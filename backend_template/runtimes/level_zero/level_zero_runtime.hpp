// Devices of oneAPI Level Zero, Intel's GPUs, through the loader that the system has. The text
// below says what the runtime does where the API leaves a choice; level_zero.h is what a project
// includes.
//
//   Loading    Nothing is linked. The first slot that needs a device opens libze_loader.so.1 and
//              initialises its drivers. If that fails there are no devices, no function of the
//              loader is called again, and the other slots say why.
//   Devices    The GPUs that zeDeviceGet lists, so ZE_AFFINITY_MASK and ZE_FLAT_DEVICE_HIERARCHY
//              count. Each driver has one context, which is made when one of its devices is first
//              used.
//   Streams    Immediate command lists on the queue group that can compute. They keep their order
//              by themselves if the driver can, and by barriers otherwise; see command_queue.hpp.
//              When a stream is destroyed and its list is idle, another stream gets the list, or it
//              is destroyed.
//   Native     Handles are the driver's: device, context, command list, event. Commands that others
//              append to a list keep their order with the runtime's own, but where barriers keep
//              the order, whoever appends must append a barrier after each command. An event's
//              handle is valid until the next recording, which takes another one.
//   Copies     From pageable memory a small copy is staged. Otherwise the slot waits for it, as for
//              every copy to pageable memory. Between devices that cannot reach each other the host
//              makes the copy, through pinned memory, and it is done when the slot returns.
//   Fills      By the driver, as far as its patterns go. For longer patterns fill_pattern.hpp
//              writes the pattern once and doubles it by copies. No fill waits for the device.
//   Pinned     Memory of zeMemAllocHost. Memory of others cannot be pinned: the API had no call for
//              it before external memory came, so the group host_registration is missing.
//   Memory     A process gets no more than the device has: a driver may oversubscribe its devices
//              and would never say that memory is short. `memory_usage` is Sysman's, if there is
//              Sysman.
//   Callbacks  Run on a thread of their stream's own, while the device waits: host_worker.hpp.
//   Shared     Memory by the driver's descriptors, events by a file of ours, in which threads of
//   the
//              host write the recordings: shared_recordings.hpp. The driver's event pools could be
//              shared, too, but then all processes would have to agree which event of a pool is
//              meant, and when it may be reset.
//   Fork       In a child that was forked after the drivers were initialised no slot works, except
//              device_count and host_memory.info.
//   Graphs     None: the API has no capture before 1.17.
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

/// A class for `outback::table_of`. outback/runtime.h says what each member must do. It lives as
/// long as the process and exists once, because drivers are initialised once. Members may be called
/// from any thread at any time. They throw like `check` (result.hpp), outback::device_lost for a
/// device that was lost, and outback::invalid_argument for a device that does not exist and for a
/// stream or event of another device. Beyond the contract:
///
///   device_count       Initialises the drivers: a child that is forked afterwards cannot use the
///                      devices. Makes no context.
///   mem_alloc          Throws outback::out_of_memory also if the process would get more than the
///                      device has. Makes the memory resident on the devices that may access this
///                      one.
///   mem_free           Throws outback::invalid_argument unless `ptr` is null or what mem_alloc
///                      returned for this device. If the driver fails, the memory stays allocated.
///   mem_copy           Waits for the stream if one side is pageable memory, unless the copy was
///                      staged (from the host, up to 64 KiB), and between devices that cannot reach
///                      each other.
///   stream_query       For a stream whose list somebody else has, it may wait up to 200 ms where
///                      loader or driver are older than API 1.6.
///   event_wait         If `event` belongs to another driver, a thread of the host waits for it. If
///                      its device is lost meanwhile, the stream goes on, and its next sync or
///                      query throws outback::runtime_error.
///   event_elapsed      By the device's clock. Throws outback::invalid_argument for events of two
///                      devices.
///   host_alloc         Pinned memory of one driver: that of the first device that is not lost.
///   host_free          Works as long as the process does, also once all devices are lost.
///   host_info          Asks each driver that has a context. In a forked child all memory is
///                      pageable.
///   device_select      Only checks the index: the driver has no current device.
///   memory_usage       Sysman's numbers; without Sysman the device's size, less what this process
///                      has. Never says that more is free than mem_alloc would give.
///   peer_can_access    Devices of two drivers are no peers.
///   peer_enable        Makes all memory of `peer` resident on `device`.
///   native_stream      Returns the command list. From then on the runtime expects that others
///                      append to it, so it can no longer tell cheaply whether the stream is idle.
///   native_event       The event is complete if `event` was never recorded. Throws
///                      outback::unsupported for an event of several processes.
///   native_wrap_stream Does not check that the list is one of `device`.
///   telemetry_read     Sysman's measurements, but OUTBACK_METRIC_MEMORY_USED is the runtime's own
///                      count. Throws outback::unsupported without Sysman.
class level_zero_runtime {
 public:
  /// Loads nothing yet.
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

 private:
  // The platform, which the first call makes.
  platform& there();
  // The device with this index, also a lost one. Throws if there is none, and if the process was
  // forked.
  device& listed(int32_t index);
  // As `listed`, but throws outback::device_lost for a lost device.
  device& at(int32_t index);
  // Runs `body(device)`. If it throws outback::device_lost, the device is lost from then on, unless
  // the body has blamed another one.
  template <class Body>
  auto on(int32_t index, const Body& body) {
    device& d = at(index);
    return blame(d, [&] { return body(d); });
  }
  // The platform for calls about host memory, which belongs to no device. Throws
  // outback::unsupported if there are no devices, and if the process was forked.
  const platform& usable();
  // The first device that is not lost. Throws outback::device_lost if all are.
  device& host_device();
  // What a handle stands for; throws outback::invalid_argument if it is another device's.
  command_queue& queue_of(device& d, outback_stream stream);
  event& event_of(const device& d, outback_event handle) const;

  void copy_from_host(device& d, command_queue& q, void* dst, const void* src, std::size_t size);
  void copy_to_host(device& d, command_queue& q, void* dst, const void* src, std::size_t size);
  void copy_between(device& from, command_queue& q, device& to, void* dst, const void* src,
                    std::size_t size);
  // Whether the whole range lies in one allocation of the driver's, which copies can use
  // asynchronously.
  bool pinned(device& d, const void* ptr, std::size_t size);
  // Whether `from` can access memory of `to` directly. False for one device, and for devices of two
  // drivers.
  bool can_reach(device& from, device& to);
  // Makes new memory of `owner` resident on the devices that may access it.
  void make_resident(device& owner, void* ptr, std::size_t size);

  const level_zero_options options_;
  std::mutex platform_mutex_;
  std::atomic<platform*> platform_{nullptr};

  address_ranges<pinned_memory> pinned_;

  // Guards peers_, and is held while memory is made resident or evicted. So memory that comes while
  // a peer is enabled is seen by mem_alloc or by peer_enable.
  std::mutex peers_mutex_;
  std::set<std::pair<int32_t, int32_t>> peers_;  // a device, and the one whose memory it may access
  std::atomic<bool> any_peers_{false};

  shared_memory shared_;
};

}  // namespace outback::level_zero
