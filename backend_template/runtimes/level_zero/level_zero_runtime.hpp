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
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "backend_template/runtimes/handles.hpp"
#include "backend_template/runtimes/level_zero/blame.hpp"
#include "backend_template/runtimes/level_zero/options.hpp"
#include "backend_template/runtimes/level_zero/platform.hpp"
#include "backend_template/runtimes/level_zero/shared_memory.hpp"
#include "outback/runtime.hpp"

namespace outback::level_zero {

class event;

/// Why a runtime has no devices: the text that last_error then has.
struct refusal {
  std::string text;
};

/// A class for `outback::table_of`. outback/runtime.h says what each member must do; the comments
/// here say what this runtime adds. It lives as long as the process and exists once, because
/// drivers are initialised once. Members may be called from any thread at any time. They throw like
/// `check` (result.hpp), outback::device_lost for a device that was lost, and
/// outback::invalid_argument for a device that does not exist and for a stream or event of another
/// device.
class level_zero_runtime {
 public:
  /// Loads nothing yet.
  explicit level_zero_runtime(const level_zero_options& options) : options_(options) {}
  /// Makes a runtime in which every member throws outback::invalid_argument with the text of `why`.
  explicit level_zero_runtime(const refusal& why) : refusal_(why.text) {}
  level_zero_runtime(const level_zero_runtime&) = delete;
  level_zero_runtime& operator=(const level_zero_runtime&) = delete;

  /// Initialises the drivers: a child that is forked afterwards cannot use the devices. Makes no
  /// context.
  int32_t device_count();
  outback_device_info device_info(int32_t device);
  void device_sync(int32_t device);

  /// Throws outback::out_of_memory also if the process would get more than the device has. Makes
  /// the memory resident on the devices that may access this one.
  void* mem_alloc(int32_t device, std::size_t size);
  /// Throws outback::invalid_argument unless `ptr` is null or what mem_alloc returned for this
  /// device. If the driver fails, the memory stays allocated.
  void mem_free(int32_t device, void* ptr);
  /// Waits for the stream if one side is pageable memory, unless the copy was staged (from the
  /// host, up to 64 KiB), and between devices that cannot reach each other.
  void mem_copy(void* dst, int32_t dst_device, const void* src, int32_t src_device,
                std::size_t size, outback_stream stream);
  void mem_fill(int32_t device, void* ptr, std::size_t size, const void* pattern,
                std::size_t pattern_size, outback_stream stream);

  /// May wait up to 50 ms for the list of a destroyed stream.
  outback_stream stream_create(int32_t device, int32_t priority);
  void stream_destroy(int32_t device, outback_stream stream);
  /// For a stream whose list somebody else has, it may wait up to 200 ms where loader or driver are
  /// older than API 1.6.
  bool stream_query(int32_t device, outback_stream stream);
  void stream_sync(int32_t device, outback_stream stream);
  priority_range stream_priorities(int32_t device);

  outback_event event_create(int32_t device, uint32_t flags);
  void event_destroy(int32_t device, outback_event event);
  void event_record(int32_t device, outback_event event, outback_stream stream);
  /// `event` may belong to another device than `stream`. If it belongs to another driver, a thread
  /// of the host waits for it. If its device is lost meanwhile, the stream goes on, and its next
  /// sync or query throws outback::runtime_error.
  void event_wait(int32_t device, outback_event event, outback_stream stream);
  bool event_query(int32_t device, outback_event event);
  void event_sync(int32_t device, outback_event event);
  /// By the device's clock. Throws outback::invalid_argument for events of two devices.
  std::optional<int64_t> event_elapsed(outback_event from, outback_event to);

  /// Pinned memory of one driver: that of the first device that is not lost.
  void* host_alloc(std::size_t size);
  /// Works as long as the process does, also once all devices are lost.
  void host_free(void* ptr);
  /// Asks each driver that has a context. In a forked child all memory is pageable.
  outback_pointer_info host_info(const void* ptr);

  /// Only checks the index: the driver has no current device.
  void device_select(int32_t device);
  bool device_is_active(int32_t device);
  /// Sysman's numbers; without Sysman the device's size, less what this process has. Never says
  /// that more is free than mem_alloc would give.
  memory_amount memory_usage(int32_t device);

  /// Devices of two drivers are no peers.
  bool peer_can_access(int32_t device, int32_t peer);
  /// Makes all memory of `peer` resident on `device`.
  void peer_enable(int32_t device, int32_t peer);
  void peer_disable(int32_t device, int32_t peer);

  void* native_device(int32_t device);
  void* native_context(int32_t device);
  /// Returns the command list. From then on the runtime expects that others append to it, so it can
  /// no longer tell cheaply whether the stream is idle.
  void* native_stream(int32_t device, outback_stream stream);
  /// The event is complete if `event` was never recorded. Throws outback::unsupported for an event
  /// of several processes.
  void* native_event(int32_t device, outback_event event);
  /// Does not check that the list is one of `device`.
  outback_stream native_wrap_stream(int32_t device, void* handle);

  void callback_enqueue(int32_t device, outback_callback callback, void* data,
                        outback_stream stream);

  outback_ipc_handle ipc_get_memory(int32_t device, void* ptr);
  void* ipc_open_memory(int32_t device, const outback_ipc_handle& handle);
  void ipc_close_memory(int32_t device, void* ptr);
  outback_ipc_handle ipc_get_event(int32_t device, outback_event event);
  outback_event ipc_open_event(int32_t device, const outback_ipc_handle& handle);

  /// Sysman's measurements, but OUTBACK_METRIC_MEMORY_USED is the runtime's own count. Throws
  /// outback::unsupported without Sysman.
  int64_t telemetry_read(int32_t device, outback_metric metric);
  std::vector<outback_process> telemetry_processes(int32_t device);

 private:
  // The platform, which the first call makes. Throws outback::invalid_argument for a refused
  // runtime.
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
  const std::string refusal_;
  std::mutex platform_mutex_;
  std::atomic<platform*> platform_{nullptr};

  std::mutex pinned_mutex_;
  std::map<void*, driver*> pinned_;  // and whose memory it is

  // Guards peers_, and is held while memory is made resident or evicted. So memory that comes while
  // a peer is enabled is seen by mem_alloc or by peer_enable.
  std::mutex peers_mutex_;
  std::set<std::pair<int32_t, int32_t>> peers_;  // a device, and the one whose memory it may access
  std::atomic<bool> any_peers_{false};

  shared_memory shared_;
};

}  // namespace outback::level_zero
