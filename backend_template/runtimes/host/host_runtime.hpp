// The host runtime: devices in host memory, with all groups. Backends use it before their device
// exists, in tests and in CI, so it behaves like a device wherever a test could see a difference:
// work on a stream is asynchronous, memory is limited, another device's pointer is refused. Include
// this to make your own instance; projects take the table from host.h.
//
//   Copies     A copy runs on the calling thread if its stream is idle and either the copy is small
//              (256 KiB) or one side is pageable host memory. Otherwise the stream's thread does
//              it.
//   Pageable   A pageable source may be reused when the slot returns, because it was copied or
//              staged. A copy to a pageable destination is complete when the slot returns.
//   Pinned     Memory of host_alloc and registered memory are not locked into RAM. The only
//              difference to pageable memory is that copies become asynchronous.
//   Shared     Device memory belongs to a file from the start, so ipc.get_memory moves no byte and
//              never waits (device_pages.hpp). Another process needs the handle's descriptor. With
//              fd -1 it must run as the same user while this process still has the memory. A
//              process may use memory that it opened even after the owner freed it.
//   Native     Handles are addresses of the runtime's own objects (`device`, `stream`, `event`).
//              Callers may compare them, and may pass a stream's handle to native.wrap_stream.
//   Peers      Every device can access every other device at any time, so `enable` has nothing to
//              do. With protected memory no device can access another.
//   Addresses  With host_options::addresses_host, slots accept any memory as device memory, and the
//              device index only chooses the stream. Otherwise the range must lie in one allocation
//              of that device.
//   Fork       A child may use the devices if no work of the parent had reached a stream's thread.
//              If work had reached a stream's thread, that stream throws outback::runtime_error in
//              the child instead of hanging, and the child may exit. Device memory that the child
//              has from its parent is shared with the parent and not copied, as on a device with
//              separate memory.
//   Records    The thread that runs a piece of work of a stream records it, also work that was put
//              on the stream's native handle. In a launch of a graph each piece gets its own
//              record, on the stream of the launch.
//   Priorities A stream's thread runs at the nice value of the process for priority -1, at one more
//              for 0 and at ten more for 1. Work on the calling thread runs at the nice value of
//              that thread.
//   Graphs     A launch runs the captured work on one thread, in the order in which it was
//              enqueued.
//   Failures   Kernels may fault. No other work fails, unless host_options::fail_work asks for it.
//   Modules    A module is a shared object with kernels as in outback/host_kernel.h. A launch runs
//              all its groups on the stream's thread.
//   Adversary  With host_options::adversarial each launch runs in another order that the contract
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
/// does not exist, and for a stream, event or graph of another device. They do not detect a handle
/// that is no longer valid or that belongs to another runtime. Beyond the contract:
///
///   device_info        Flags and `kernels_of` follow the options; `compute_units` is the number of
///                      the machine's hardware threads. There is no UUID and no PCI id.
///   device_sync        Waits for all streams of the device, destroyed ones included. If a stream
///                      is in a capture, breaks the capture and throws outback::invalid_argument.
///   mem_alloc          Returns memory that begins at a page, with its own descriptor. Charges the
///                      budget in multiples of 64 bytes. Throws outback::out_of_memory if the
///                      device's budget, or the machine, has too little left. Waits for no stream,
///                      and neither does mem_free.
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
///   stream_query, stream_sync In a capture, break the capture and throw outback::invalid_argument.
///   event_create       Timed events are read from CLOCK_MONOTONIC. OUTBACK_EVENT_BLOCKING changes
///                      nothing: a waiting thread always sleeps.
///   host_alloc         Returns ordinary memory, aligned to 64 bytes. It counts against no device's
///                      budget.
///   host_info          Knows pinned, registered and device memory, interior pointers included.
///   host_register      Only notes the range. Throws outback::invalid_argument if it overlaps
///                      memory that is pinned or a device's; a shared page is no overlap.
///   device_select      Only checks the index: the host has no current device.
///   device_is_active   True once memory was asked for or a stream was created on the device.
///   memory_usage       Reports the device's budget, which is separate for each process.
///   callback_enqueue   Runs the callback on the stream's thread, never on the calling thread.
///   graph_end          Throws outback::invalid_argument if the capture is broken or one of its
///                      streams was not joined; the capture still ends.
///   graph_launch       Enqueues one piece of work, which waits for the graph's previous launch.
///   peer_can_access    True for two different devices, unless memory is protected. With protected
///                      memory peer_enable throws outback::unsupported.
///   native_context     Returns the address of this object, for every device.
///   native_wrap_stream Throws outback::invalid_argument unless native_stream returned `handle` for
///                      a stream of this device that still exists.
///   ipc_get_memory     Never waits. Throws outback::runtime_error for memory that has no file
///                      (device_pages.hpp).
///   activity_start     Always works, because no other code can record this device. Keeps 2^18
///                      records.
///   activity_flush     Only checks the index: a record exists before a caller can know that its
///                      work is done.
///   range_push, range_pop, range_mark Do nothing: only layers, such as a trace, use ranges.
///   module_load        Takes OUTBACK_FORMAT_HOST. Loads the bytes with dlopen, from memory.
///   Kernels
///                      find the symbols of the process and of the module, not of other modules.
///   kernel_launch      Checks the number of arguments and their sizes. Never runs the kernel on
///   the
///                      calling thread. With protected memory, replaces device pointers among the
///                      arguments by the places where the memory is, but no pointers in structs.
///                      Throws outback::invalid_argument for a pointer that kernels of the device
///                      cannot access.
///   telemetry_read     Measures utilization and memory in use, by the runtime's own counts. Throws
///                      outback::unsupported for the other metrics.
///   telemetry_processesLists this process if it uses memory of the device. No other process can
///                      use memory of the device.
class host_runtime {
 public:
  /// Makes the devices. Starts no thread and allocates no device memory. Throws
  /// outback::invalid_argument unless 0 <= options.devices <= max_devices, or if protected_memory
  /// is combined with host_addressable or addresses_host. Throws outback::out_of_memory if the
  /// system refuses the addresses for protected memory.
  explicit host_runtime(const host_options& options = {});
  /// Waits for queued work and frees all remaining memory. Destroy all events first.
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
  OUTBACK_MEMBERS_OF(kernels)

 private:
  // Returns the device with this index. Throws outback::invalid_argument if there is no such
  // device.
  device& at(int32_t index) const;
  // Returns the stream of device `index` that `handle` stands for; the default stream for null.
  stream& stream_at(int32_t index, outback_stream handle) const;
  // Returns the event, which must belong to device `index`. `event_wait` and `event_elapsed` accept
  // events of any device.
  event& event_at(int32_t index, outback_event handle) const;
  // Throws outback::invalid_argument unless the range lies in one allocation of the device or
  // host_options::addresses_host is set.
  void check_range(int32_t index, const void* ptr, std::size_t size) const;
  // Allocates `size` bytes and records them as memory of device `owner`.
  void* allocate_device_memory(std::size_t size, int32_t owner);
  // Frees or unmaps `taken`, which is no longer in allocations_.
  void release(const allocation& taken) noexcept;
  // Returns the memory that the address stands for.
  void* bytes_at(const void* ptr) const;
  // Returns the memory that an argument of a kernel stands for. Throws outback::invalid_argument if
  // kernels of device `index` cannot access that memory; `number` is the argument's for the text.
  void* kernel_memory(int32_t index, const void* ptr, uint32_t number) const;
  // Returns whether the whole range is pinned or registered host memory.
  bool pinned(const void* ptr, std::size_t size) const;

  const host_options options_;
  std::vector<std::unique_ptr<device>> devices_;
  allocations allocations_;
  pinned_ranges registered_;  // only memory of the user
  spare_pages spare_pages_;
  opened_memory<shared_file::identity> opened_memory_;
};

}  // namespace outback::host
