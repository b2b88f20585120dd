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
//   Shared     Device memory is a file's from the start, so ipc.get_memory moves no byte and waits
//              for nothing (device_pages.hpp). Another process needs the handle's descriptor or,
//              with fd -1, must be of the same user while this process still has the memory. It may
//              use what it opened after the owner freed it.
//   Native     Handles are addresses of the runtime's own objects (`device`, `stream`, `event`).
//              They are good for comparing, and a stream's for native.wrap_stream.
//   Peers      Every device can access every other one at any time, so there is nothing to enable.
//              With protected memory no device can.
//   Addresses  With host_options::addresses_host, a pointer that is passed as a device's may be any
//              memory, and the device index only chooses the stream. Without it, the range must lie
//              in one allocation of that device.
//   Fork       A child may use the devices if no work of the parent had reached a stream's thread.
//              Where some had, that stream throws outback::runtime_error in the child instead of
//              hanging, and the child may exit. Device memory that the child has from its parent is
//              the parent's own, as on a device with memory apart, and no copy of it.
//   Records    Each piece of work that runs on a stream is recorded by the thread that runs it,
//              also what is put on the stream's native handle. In a launch of a graph the pieces
//              are recorded one by one, on the stream of the launch.
//   Priorities A stream's thread runs at the nice value of the process for priority -1, at one more
//              for 0 and at ten more for 1. What runs on the calling thread has that thread's.
//   Graphs     A launch runs what was captured on one thread, in the order in which it was
//              enqueued.
//   Failures   Work never fails, unless host_options::fail_work asks for it.
//   Adversary  With host_options::adversarial each launch takes another order that the contract
//              allows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "backend_template/runtimes/handles.hpp"
#include "backend_template/runtimes/host/allocations.hpp"
#include "backend_template/runtimes/host/device.hpp"
#include "backend_template/runtimes/host/device_pages.hpp"
#include "backend_template/runtimes/host/host_options.hpp"
#include "backend_template/runtimes/host/protected_addresses.hpp"
#include "backend_template/runtimes/opened_memory.hpp"
#include "backend_template/runtimes/pinned_ranges.hpp"
#include "backend_template/runtimes/slot_members.hpp"
#include "outback/runtime.hpp"

namespace outback::host {

class event;

/// A class for `outback::table_of`. outback/runtime.h says what each member must do. Members may be
/// called from any thread at any time. They throw outback::invalid_argument for a device index that
/// does not exist, and for a stream, event or graph of another device. A handle that is no longer
/// valid, or another runtime's, is not recognised as such. Beyond the contract:
///
///   device_info        Flags and `kernels_of` follow the options; `compute_units` is the number of
///                      the machine's hardware threads. There is no UUID and no PCI id.
///   device_sync        Waits for all streams of the device, destroyed ones included. If a stream
///                      is in a capture, breaks the capture and throws outback::invalid_argument.
///   mem_alloc          Returns memory that begins a page, with a descriptor of its own. It is
///   charged in multiples of 64 bytes.
///                      Throws outback::out_of_memory when the device's budget, or the machine, has
///                      too little left. Waits for no stream, and neither does mem_free.
///   mem_copy           Waits for the stream only if one side is pageable host memory, the stream
///                      is busy, and the copy is to the host or larger than 1 MiB. Throws
///                      outback::invalid_argument for host to host, for a range that is not the
///                      device's (see Addresses above), and for pageable host memory in a capture,
///                      which breaks.
///   mem_fill           Runs on the calling thread up to 256 KiB if the stream is idle, and on the
///                      stream's thread otherwise. Never waits.
///   stream_create      Starts no thread: a stream gets one with its first asynchronous work.
///   stream_destroy     Throws outback::invalid_argument for the default stream. Returns early;
///                      queued work still runs.
///   stream_query, stream_sync
///                      In a capture they break it and throw outback::invalid_argument.
///   event_create       Timed events are read from CLOCK_MONOTONIC. OUTBACK_EVENT_BLOCKING changes
///                      nothing: a thread that waits sleeps in any case.
///   host_alloc         Returns ordinary memory, aligned to 64 bytes, which no device is charged
///                      for.
///   host_info          Knows pinned, registered and device memory, interior pointers included.
///   host_register      Only notes the range. Throws outback::invalid_argument if it overlaps
///                      memory that is pinned or a device's; a shared page is no overlap.
///   device_select      Does nothing but check the index: the host has no current device.
///   device_is_active   True once memory was asked for or a stream was created on the device.
///   memory_usage       Of the device's budget, which is this process's alone.
///   callback_enqueue   Runs the callback on the stream's thread, never on the calling one.
///   graph_end          Throws outback::invalid_argument if the capture is broken or a stream of it
///                      was not joined; the capture has ended then.
///   graph_launch       Enqueues one piece of work, which waits for the launch of this graph before
///                      it.
///   peer_can_access    True for two different devices, unless memory is protected. peer_enable
///                      then throws outback::unsupported.
///   native_context     Returns the address of this object, for every device.
///   native_wrap_stream Throws outback::invalid_argument unless `handle` is one that native_stream
///                      returned for a stream of this device which is still there.
///   ipc_get_memory     Waits for nothing. Throws outback::runtime_error for memory that has no
///   file
///                      (device_pages.hpp).
///   activity_start     Always works: nobody else can record this device. Keeps 2^18 records.
///   activity_flush     Does nothing but check the index: a record is there before its work is
///                      known to be done.
///   range_push, range_pop, range_mark
///                      Do nothing: they are for layers, such as a trace.
///   telemetry_read     Utilization and memory in use, which are the runtime's own counts. Throws
///                      outback::unsupported for the other metrics.
///   telemetry_processes
///                      This process, if it has memory of the device; no other process can have
///                      any.
class host_runtime {
 public:
  /// Makes the devices. Starts no thread and allocates no device memory. Throws
  /// outback::invalid_argument unless 0 <= options.devices <= max_devices, or if protected_memory
  /// meets host_addressable or addresses_host; throws outback::out_of_memory if protected memory
  /// finds no addresses.
  explicit host_runtime(const host_options& options = {});
  /// Waits for queued work and frees what was not freed. Destroy all events first.
  ~host_runtime();
  host_runtime(const host_runtime&) = delete;
  host_runtime& operator=(const host_runtime&) = delete;

  OUTBACK_MEMBERS_OF(runtime)
  OUTBACK_MEMBERS_OF(streams)
  OUTBACK_MEMBERS_OF(events)
  OUTBACK_MEMBERS_OF(host_memory)
  OUTBACK_MEMBERS_OF(device_state)
  OUTBACK_MEMBERS_OF(host_registration)
  OUTBACK_MEMBERS_OF(peer)
  OUTBACK_MEMBERS_OF(native)
  OUTBACK_MEMBERS_OF(callbacks)
  OUTBACK_MEMBERS_OF(ipc)
  OUTBACK_MEMBERS_OF(graphs)
  OUTBACK_MEMBERS_OF(telemetry)
  OUTBACK_MEMBERS_OF(activity)
  OUTBACK_MEMBERS_OF(ranges)

 private:
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
  // Allocates `size` bytes and notes them as device `owner`'s.
  void* allocate_device_memory(std::size_t size, int32_t owner);
  // Frees, or unmaps, what `taken` describes. It is no longer in allocations_.
  void release(const allocation& taken) noexcept;
  // The memory that the address stands for.
  void* bytes_at(const void* ptr) const;
  // Whether the whole range is pinned or registered host memory.
  bool pinned(const void* ptr, std::size_t size) const;

  const host_options options_;
  std::vector<std::unique_ptr<device>> devices_;
  allocations allocations_;
  pinned_ranges registered_;  // the user's memory alone
  spare_pages spare_pages_;
  opened_memory<shared_file::identity> opened_memory_;
};

}  // namespace outback::host
