// Devices of oneAPI Level Zero: Intel's GPUs, through the loader that the system has.
//
//   Loading    Nothing is linked. The first slot that needs a device opens libze_loader.so.1 and
//              initialises its drivers; where that fails there are no devices, nothing of the
//              loader's is called again, and the other slots say why.
//   Devices    GPUs as zeDeviceGet lists them: ZE_AFFINITY_MASK and ZE_FLAT_DEVICE_HIERARCHY count.
//              One context for each driver, made by the first use of one of its devices.
//   Streams    Immediate command lists on the group that computes. They keep their order by
//              themselves where the driver can, else by barriers; see queue.hpp. The list of a
//              stream that was destroyed goes to another stream, or goes itself, once it is idle.
//   Native     Handles are the driver's: device, command list, event. Work that others append to a
//              list keeps its order with the runtime's own, except where barriers keep the order:
//              there, whoever appends to a list also appends a barrier after each command. The
//              event of a recording is the driver's until the next recording, which takes another
//              one.
//   Copies     From pageable memory a copy is staged when it is small. Else it is waited for, as
//              all copies to pageable memory are. Between devices that cannot reach each other the
//              host makes it, through pinned memory, and it is over when the call returns.
//   Fills      The driver's, as far as its patterns go; longer ones are one piece that copies
//              double. No fill waits for the device.
//   Pinned     Memory of zeMemAllocHost. Other memory cannot be pinned where it is: before external
//              memory came to the API there was no call for it, so there is no host_registration.
//   Memory     A process gets no more than the device has. A driver may let it be oversubscribed
//              and would never say that memory is short. `memory_usage` is Sysman's if there is
//              one.
//   Callbacks  Run on a thread of their stream's own, while the device waits: host_worker.hpp.
//   Shared     Memory by the driver's descriptors, events by a file of ours: shared_event.hpp.
//   Fork       No slot works in a child that was forked after the drivers were initialised, except
//              device_count, which remembers.
//   Graphs     None: the API has no capture before 1.17.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "backend_template/runtimes/level_zero/options.hpp"
#include "backend_template/runtimes/level_zero/platform.hpp"
#include "backend_template/runtimes/level_zero/shared_memory.hpp"
#include "outback/runtime.hpp"

namespace outback::level_zero {

class event;

/// Why there can be no device: a text for `last_error`.
struct refusal {
  std::string text;
};

/// A class for `outback::table_of`; the members are told in outback/runtime.hpp. Lives as long as
/// the process, which has one: the drivers are initialised once.
class level_zero_runtime {
 public:
  explicit level_zero_runtime(const level_zero_options& options) : options_(options) {}
  /// A runtime in which every member throws outback::invalid_argument with the text of `why`.
  explicit level_zero_runtime(const refusal& why) : refusal_(why.text) {}
  level_zero_runtime(const level_zero_runtime&) = delete;
  level_zero_runtime& operator=(const level_zero_runtime&) = delete;

  int32_t device_count();
  outback_device_info device_info(int32_t device);
  void device_sync(int32_t device);

  void* mem_alloc(int32_t device, std::size_t size);
  void mem_free(int32_t device, void* ptr);
  void mem_copy(void* dst, int32_t dst_device, const void* src, int32_t src_device,
                std::size_t size, outback_stream stream);
  void mem_fill(int32_t device, void* ptr, std::size_t size, const void* pattern,
                std::size_t pattern_size, outback_stream stream);

  outback_stream stream_create(int32_t device, int32_t priority);
  void stream_destroy(int32_t device, outback_stream stream);
  bool stream_query(int32_t device, outback_stream stream);
  void stream_sync(int32_t device, outback_stream stream);
  priority_range stream_priorities(int32_t device);

  outback_event event_create(int32_t device, uint32_t flags);
  void event_destroy(int32_t device, outback_event event);
  void event_record(int32_t device, outback_event event, outback_stream stream);
  void event_wait(int32_t device, outback_event event, outback_stream stream);
  bool event_query(int32_t device, outback_event event);
  void event_sync(int32_t device, outback_event event);
  std::optional<int64_t> event_elapsed(outback_event from, outback_event to);

  void* host_alloc(std::size_t size);
  void host_free(void* ptr);
  outback_pointer_info host_info(const void* ptr);

  void device_select(int32_t device);
  bool device_is_active(int32_t device);
  memory_amount memory_usage(int32_t device);

  bool peer_can_access(int32_t device, int32_t peer);
  void peer_enable(int32_t device, int32_t peer);
  void peer_disable(int32_t device, int32_t peer);

  void* native_device(int32_t device);
  void* native_context(int32_t device);
  void* native_stream(int32_t device, outback_stream stream);
  void* native_event(int32_t device, outback_event event);
  outback_stream native_wrap_stream(int32_t device, void* handle);

  void callback_enqueue(int32_t device, outback_callback callback, void* data,
                        outback_stream stream);

  outback_ipc_handle ipc_get_memory(int32_t device, void* ptr);
  void* ipc_open_memory(int32_t device, const outback_ipc_handle& handle);
  void ipc_close_memory(int32_t device, void* ptr);
  outback_ipc_handle ipc_get_event(int32_t device, outback_event event);
  outback_event ipc_open_event(int32_t device, const outback_ipc_handle& handle);

  int64_t telemetry_read(int32_t device, outback_metric metric);
  std::vector<outback_process> telemetry_processes(int32_t device);

 private:
  /// The platform, made by the first call.
  platform& there();
  /// Device `index`, which may be used: the process was not forked, and the device is not lost.
  device& at(int32_t index);
  /// Runs `body(device)`, and remembers when the driver says that the device is lost.
  template <class Body>
  auto on(int32_t index, const Body& body) {
    device& d = at(index);
    try {
      return body(d);
    } catch (const device_lost&) {
      d.lose();
      throw;
    }
  }
  device& first_device();
  queue& queue_of(device& d, outback_stream stream);
  event& event_of(const device& d, outback_event handle) const;

  void copy_from_host(device& d, queue& q, void* dst, const void* src, std::size_t size);
  void copy_to_host(device& d, queue& q, void* dst, const void* src, std::size_t size);
  void copy_between(device& from, queue& q, device& to, void* dst, const void* src,
                    std::size_t size);
  bool pinned(device& d, const void* ptr, std::size_t size);
  bool can_reach(device& from, device& to);
  void make_resident(device& owner, void* ptr, std::size_t size);

  const level_zero_options options_;
  const std::string refusal_;
  std::mutex platform_mutex_;
  std::atomic<platform*> platform_{nullptr};

  std::mutex pinned_mutex_;
  std::set<void*> pinned_;

  // Held while memory comes, goes or is made reachable, so that none is missed and none is gone.
  std::mutex peers_mutex_;
  std::set<std::pair<int32_t, int32_t>> peers_;  // device, and whose memory it reaches
  std::atomic<bool> any_peers_{false};

  shared_memory shared_;
};

}  // namespace outback::level_zero
