// The embedded default runtime: devices in host memory, with all groups. It is what a backend runs
// on before there is a device, in tests and in CI, so it behaves like a device where a test could
// tell: work on a stream is asynchronous, memory is limited, another device's pointer is refused.
//
//   Copies     A copy runs on the calling thread when its stream is idle and it is small, or when
//              one side is pageable host memory and the call could not return early anyway.
//              Otherwise the stream's thread does it.
//   Pageable   On return, a pageable source may be reused: it was copied, or staged. What goes to a
//              pageable destination is there on return.
//   Pinned     host_alloc'ed and registered memory is not locked; copies become asynchronous.
//   Shared     Memory becomes a file's when ipc.get_memory first asks for it, which waits for the
//              work of its device, and stays at its address; see ipc_memory.hpp. A handle needs its
//              descriptor or, with fd -1, a process of the same user that still has the memory.
//              What is opened may be used after its owner freed it. A child that is forked
//              afterwards writes into the same memory, as with all other memory it does not.
//   Native     Handles are addresses of the runtime's own objects, its `device`, `stream` and
//              `event`, which nobody else can use; a stream's are good for wrap_stream.
//   Peers      All devices can access each other at any time, so that there is nothing to enable.
//              None can where memory is protected.
//   Addresses  With host_options::addresses_host, a pointer said to be a device's may be any memory
//              at all, and the device index only chooses the stream. Without it, the range must be
//              an allocation of that device.
//   Fork       A child may use the devices as long as no work of the parent's had reached a thread.
//              Where it had, the child gets an error, not a hang, and may exit.
//   Priorities A stream's thread runs with a nice value: that of the process for priority -1, one
//              more for 0 and ten more for 1. What runs on the calling thread has the caller's.
//   Graphs     A launch runs what was captured in the order of its enqueueing, on one thread.
//   Adversary  With host_options::adversarial each launch takes another order that the contract
//              allows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend_template/runtimes/host/allocations.hpp"
#include "backend_template/runtimes/host/device.hpp"
#include "backend_template/runtimes/host/host_options.hpp"
#include "backend_template/runtimes/host/ipc_memory.hpp"
#include "backend_template/runtimes/host/protected_addresses.hpp"
#include "outback/runtime.hpp"

namespace outback::host {

class event;

/// Why there can be no device: a text for `last_error`.
struct refusal {
  std::string text;
};

/// A class for `outback::table_of`; the members are told in outback/runtime.hpp.
class host_runtime {
 public:
  /// Throws outback::invalid_argument unless 0 <= options.devices <= max_devices.
  explicit host_runtime(const host_options& options = {});
  /// A runtime in which every member throws outback::invalid_argument with the text of `why`.
  explicit host_runtime(const refusal& why);
  /// Waits for queued work and frees what was not freed. No event may be left.
  ~host_runtime();
  host_runtime(const host_runtime&) = delete;
  host_runtime& operator=(const host_runtime&) = delete;

  int32_t device_count() const;
  outback_device_info device_info(int32_t device) const;
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
  priority_range stream_priorities(int32_t device) const;

  outback_event event_create(int32_t device, uint32_t flags);
  void event_destroy(int32_t device, outback_event event);
  void event_record(int32_t device, outback_event event, outback_stream stream);
  void event_wait(int32_t device, outback_event event, outback_stream stream);
  bool event_query(int32_t device, outback_event event);
  void event_sync(int32_t device, outback_event event);
  std::optional<int64_t> event_elapsed(outback_event from, outback_event to);

  void* host_alloc(std::size_t size);
  void host_free(void* ptr);
  outback_pointer_info host_info(const void* ptr) const;

  void device_select(int32_t device) const;
  bool device_is_active(int32_t device) const;
  memory_amount memory_usage(int32_t device) const;

  void callback_enqueue(int32_t device, outback_callback callback, void* data,
                        outback_stream stream);

  void graph_begin(int32_t device, outback_stream stream);
  outback_capture graph_status(int32_t device, outback_stream stream);
  outback_graph graph_end(int32_t device, outback_stream stream);
  void graph_instantiate(int32_t device, outback_graph graph);
  void graph_launch(int32_t device, outback_graph graph, outback_stream stream);
  void graph_destroy(int32_t device, outback_graph graph);

  void host_register(void* ptr, std::size_t size);
  void host_unregister(void* ptr);

  bool peer_can_access(int32_t device, int32_t peer) const;
  void peer_enable(int32_t device, int32_t peer);
  void peer_disable(int32_t device, int32_t peer);

  void* native_device(int32_t device) const;
  void* native_context(int32_t device);
  void* native_stream(int32_t device, outback_stream stream) const;
  void* native_event(int32_t device, outback_event event) const;
  outback_stream native_wrap_stream(int32_t device, void* handle);

  outback_ipc_handle ipc_get_memory(int32_t device, void* ptr);
  void* ipc_open_memory(int32_t device, const outback_ipc_handle& handle);
  void ipc_close_memory(int32_t device, void* ptr);
  outback_ipc_handle ipc_get_event(int32_t device, outback_event event);
  outback_event ipc_open_event(int32_t device, const outback_ipc_handle& handle);

  int64_t telemetry_read(int32_t device, outback_metric metric);
  std::vector<outback_process> telemetry_processes(int32_t device);

 private:
  void check_accepted() const;
  device& at(int32_t index) const;
  stream& stream_at(int32_t index, outback_stream handle) const;
  /// An event that is `index`'s own, as all slots but `wait` and `elapsed` want it.
  event& event_at(int32_t index, outback_event handle) const;
  void check_range(int32_t index, const void* ptr, std::size_t size) const;
  void* allocate(std::size_t size, int32_t owner);
  void release(const allocation& taken) noexcept;
  void* bytes_at(const void* ptr) const;
  bool pinned(const void* ptr, std::size_t size) const;

  const host_options options_;
  const std::string refusal_;
  std::vector<std::unique_ptr<device>> devices_;
  allocations allocations_;
  allocations registered_;  // host memory of others
  ipc_memory ipc_memory_;
  std::optional<protected_addresses> addresses_;  // of device memory; none: those of its bytes
};

/// The table of the process's one instance; see `outback_host_runtime` in host.h.
const outback_runtime* table();

}  // namespace outback::host
