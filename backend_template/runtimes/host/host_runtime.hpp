// The host runtime: devices in host memory, with all groups. A backend runs on it before there is a
// device, in tests and in CI, so it behaves like a device where a test could tell: work on a stream
// is asynchronous, memory is limited, another device's pointer is refused. Include it to make an
// instance of your own; projects take the table from host.h.
//
//   Copies     A copy runs on the calling thread if its stream is idle and either the copy is small
//              (256 KiB) or one side is pageable host memory. Otherwise the stream's thread does
//              it.
//   Pageable   A pageable source may be reused when the slot returns, because it was copied or
//              staged. What goes to a pageable destination is there when the slot returns.
//   Pinned     Memory of host_alloc, and memory that was registered, is not locked into RAM. Only
//              copies differ: they become asynchronous.
//   Shared     Memory becomes a file's when ipc.get_memory first asks for it, and stays at its
//              address; that call waits for the work of its device. See ipc_memory.hpp. Another
//              process needs the handle's descriptor or, with fd -1, must be of the same user while
//              this process still has the memory. It may use what it opened after the owner freed
//              it. A child that is forked later writes into the same memory as its parent; memory
//              that is not shared is copied by a fork.
//   Native     Handles are addresses of the runtime's own objects (`device`, `stream`, `event`).
//              They are good for comparing, and a stream's for native.wrap_stream.
//   Peers      Every device can access every other one at any time, so there is nothing to enable.
//              With protected memory no device can.
//   Addresses  With host_options::addresses_host, a pointer that is passed as a device's may be any
//              memory, and the device index only chooses the stream. Without it, the range must lie
//              in one allocation of that device.
//   Fork       A child may use the devices if no work of the parent had reached a stream's thread.
//              Where some had, that stream throws outback::runtime_error in the child instead of
//              hanging, and the child may exit.
//   Priorities A stream's thread runs at the nice value of the process for priority -1, at one more
//              for 0 and at ten more for 1. What runs on the calling thread has that thread's.
//   Graphs     A launch runs what was captured on one thread, in the order in which it was
//              enqueued.
//   Adversary  With host_options::adversarial each launch takes another order that the contract
//              allows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend_template/runtimes/handles.hpp"
#include "backend_template/runtimes/host/allocations.hpp"
#include "backend_template/runtimes/host/device.hpp"
#include "backend_template/runtimes/host/host_options.hpp"
#include "backend_template/runtimes/host/ipc_memory.hpp"
#include "backend_template/runtimes/host/protected_addresses.hpp"
#include "backend_template/runtimes/opened_memory.hpp"
#include "backend_template/runtimes/pinned_ranges.hpp"
#include "outback/runtime.hpp"

namespace outback::host {

class event;

/// Why a runtime has no devices: the text that last_error then has.
struct refusal {
  std::string text;
};

/// A class for `outback::table_of`. outback/runtime.h says what each member must do; the comments
/// here say what this runtime adds. Members may be called from any thread at any time. They throw
/// outback::invalid_argument for a device index that does not exist, and for a stream, event or
/// graph of another device. A handle that is no longer valid, or another runtime's, is not
/// recognised as such.
class host_runtime {
 public:
  /// Makes the devices. Starts no thread and allocates no device memory. Throws
  /// outback::invalid_argument unless 0 <= options.devices <= max_devices, or if protected_memory
  /// meets host_addressable or addresses_host; throws outback::out_of_memory if protected memory
  /// finds no addresses.
  explicit host_runtime(const host_options& options = {});
  /// Makes a runtime in which every member throws outback::invalid_argument with the text of `why`.
  explicit host_runtime(const refusal& why);
  /// Waits for queued work and frees what was not freed. Destroy all events first.
  ~host_runtime();
  host_runtime(const host_runtime&) = delete;
  host_runtime& operator=(const host_runtime&) = delete;

  /// Returns host_options::devices.
  int32_t device_count() const;
  /// Flags and `kernels_of` follow the options; `compute_units` is the number of the machine's
  /// hardware threads. There is no UUID and no PCI id.
  outback_device_info device_info(int32_t device) const;
  /// Waits for all streams of the device, destroyed ones included. If a stream is in a capture,
  /// breaks the capture and throws outback::invalid_argument.
  void device_sync(int32_t device);

  /// Returns memory that begins a page. It is charged in multiples of 64 bytes. Throws
  /// outback::out_of_memory when the device's budget, or the machine, has too little left. Waits
  /// for no stream.
  void* mem_alloc(int32_t device, std::size_t size);
  /// Throws outback::invalid_argument unless `ptr` is null or what mem_alloc returned for this
  /// device. Waits for no stream.
  void mem_free(int32_t device, void* ptr);
  /// Waits for the stream only if one side is pageable host memory, the stream is busy, and the
  /// copy is to the host or larger than 1 MiB. Throws outback::invalid_argument for host to host,
  /// for a range that is not the device's (see Addresses above), and for pageable host memory in a
  /// capture, which breaks.
  void mem_copy(void* dst, int32_t dst_device, const void* src, int32_t src_device,
                std::size_t size, outback_stream stream);
  /// Runs on the calling thread up to 256 KiB if the stream is idle, and on the stream's thread
  /// otherwise. Never waits.
  void mem_fill(int32_t device, void* ptr, std::size_t size, const void* pattern,
                std::size_t pattern_size, outback_stream stream);

  /// Starts no thread: a stream gets one with its first asynchronous work.
  outback_stream stream_create(int32_t device, int32_t priority);
  /// Throws outback::invalid_argument for null, the default stream. Returns early; queued work
  /// still runs.
  void stream_destroy(int32_t device, outback_stream stream);
  /// In a capture, stream_query and stream_sync break the capture and throw
  /// outback::invalid_argument.
  bool stream_query(int32_t device, outback_stream stream);
  void stream_sync(int32_t device, outback_stream stream);
  priority_range stream_priorities(int32_t device) const;

  /// Timed events are read from CLOCK_MONOTONIC. OUTBACK_EVENT_BLOCKING changes nothing: a thread
  /// that waits sleeps in any case.
  outback_event event_create(int32_t device, uint32_t flags);
  void event_destroy(int32_t device, outback_event event);
  void event_record(int32_t device, outback_event event, outback_stream stream);
  /// `event` may belong to another device than `stream`.
  void event_wait(int32_t device, outback_event event, outback_stream stream);
  bool event_query(int32_t device, outback_event event);
  void event_sync(int32_t device, outback_event event);
  std::optional<int64_t> event_elapsed(outback_event from, outback_event to);

  /// Pinned memory is ordinary memory, aligned to 64 bytes, and is charged to no device.
  void* host_alloc(std::size_t size);
  void host_free(void* ptr);
  /// Knows pinned, registered and device memory, interior pointers included.
  outback_pointer_info host_info(const void* ptr) const;

  /// Does nothing but check the index: the host has no current device.
  void device_select(int32_t device) const;
  /// True once memory was asked for or a stream was created on the device.
  bool device_is_active(int32_t device) const;
  /// Of the device's budget, which is this process's alone.
  memory_amount memory_usage(int32_t device) const;

  /// Runs the callback on the stream's thread, never on the calling one.
  void callback_enqueue(int32_t device, outback_callback callback, void* data,
                        outback_stream stream);

  void graph_begin(int32_t device, outback_stream stream);
  outback_capture graph_status(int32_t device, outback_stream stream);
  /// Throws outback::invalid_argument if the capture is broken or a stream of it was not joined;
  /// the capture has ended then.
  outback_graph graph_end(int32_t device, outback_stream stream);
  void graph_instantiate(int32_t device, outback_graph graph);
  /// Enqueues one piece of work, which waits for the launch of this graph before it.
  void graph_launch(int32_t device, outback_graph graph, outback_stream stream);
  void graph_destroy(int32_t device, outback_graph graph);

  /// Registering only notes the range. Throws outback::invalid_argument if it overlaps memory that
  /// is pinned or a device's; a shared page is no overlap.
  void host_register(void* ptr, std::size_t size);
  void host_unregister(void* ptr);

  /// True for two different devices, unless memory is protected.
  bool peer_can_access(int32_t device, int32_t peer) const;
  /// Throws outback::unsupported where memory is protected; does nothing otherwise.
  void peer_enable(int32_t device, int32_t peer);
  void peer_disable(int32_t device, int32_t peer);

  void* native_device(int32_t device) const;
  /// Returns the address of this object, for every device.
  void* native_context(int32_t device);
  void* native_stream(int32_t device, outback_stream stream) const;
  void* native_event(int32_t device, outback_event event) const;
  /// Throws outback::invalid_argument unless `handle` is one that native_stream returned for a
  /// stream of this device which is still there.
  outback_stream native_wrap_stream(int32_t device, void* handle);

  /// Waits for the device the first time that `ptr` is shared, since a write during the exchange of
  /// pages would be lost.
  outback_ipc_handle ipc_get_memory(int32_t device, void* ptr);
  void* ipc_open_memory(int32_t device, const outback_ipc_handle& handle);
  void ipc_close_memory(int32_t device, void* ptr);
  outback_ipc_handle ipc_get_event(int32_t device, outback_event event);
  outback_event ipc_open_event(int32_t device, const outback_ipc_handle& handle);

  /// Utilization and memory are the runtime's own counts; clock and temperature are the machine's.
  /// Throws outback::unsupported for the other metrics, and for what the machine does not report.
  int64_t telemetry_read(int32_t device, outback_metric metric);
  /// This process, if it has memory of the device; no other process can have any.
  std::vector<outback_process> telemetry_processes(int32_t device);

 private:
  // Throws if the runtime was made from a refusal.
  void check_accepted() const;
  // The device with this index; throws outback::invalid_argument if there is none.
  device& at(int32_t index) const;
  // The stream of device `index` that `handle` stands for: its default stream for null.
  stream& stream_at(int32_t index, outback_stream handle) const;
  // The event, which must belong to device `index`. `event_wait` and `event_elapsed` take any
  // device's.
  event& event_at(int32_t index, outback_event handle) const;
  // Throws outback::invalid_argument unless the range lies in one allocation of the device, or any
  // address will do.
  void check_range(int32_t index, const void* ptr, std::size_t size) const;
  // Allocates `size` bytes and notes them as `owner`'s: a device index, or OUTBACK_HOST for pinned
  // memory.
  void* allocate(std::size_t size, int32_t owner);
  // Frees, or unmaps, what `taken` describes. It is no longer in allocations_.
  void release(const allocation& taken) noexcept;
  // The memory that the address stands for.
  void* bytes_at(const void* ptr) const;
  // Whether the whole range is pinned or registered host memory.
  bool pinned(const void* ptr, std::size_t size) const;

  const host_options options_;
  const std::string refusal_;
  std::vector<std::unique_ptr<device>> devices_;
  allocations allocations_;
  pinned_ranges registered_;  // the user's memory alone
  ipc_memory ipc_memory_;
  opened_memory<shared_file::identity> opened_memory_;
  std::optional<protected_addresses> addresses_;  // only with protected_memory
};

/// Returns the table of the process's one instance; see outback_host_runtime in host.h.
const outback_runtime* table();

}  // namespace outback::host
