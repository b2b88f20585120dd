// The contract between Outback and a device: the table of C functions that a device must offer to
// become a PyTorch backend. Plain C11: no torch, no Python, no C++. Read this file to write a
// runtime in C or Rust; in C++, write a class (outback/runtime.hpp) and look up the rules here.
//
// A "runtime" is the driver's side of this table, a "slot" is one function of the table, a "group"
// is an optional struct of slots, and "the caller" is whoever calls a slot: Outback, or a layer
// (outback/layers.hpp). The rules below hold for every slot unless its own comment says otherwise.
//
//   Errors     A slot returns OUTBACK_OK or a failure code. A slot that fails leaves its outputs
//              untouched, and last_error() then returns the explanation on the calling thread.
//              Slots never throw and never abort. They return OUTBACK_INVALID_ARGUMENT for the
//              index of a device that does not exist, and for null where an argument is required.
//              If work fails after it was enqueued, the next sync or query of its stream reports
//              the failure, once, or the device is lost.
//   Threads    Any slot may be called from any thread at any time, also by several threads at once.
//              The caller holds no lock of its own during the call.
//   Devices    Every slot that works on a device takes the device's index, 0 to count - 1. No slot
//              depends on a "current" device. No slot changes the driver's current device for the
//              calling thread.
//   Units      Sizes are in bytes, times are in nanoseconds.
//   Ownership  The caller owns the objects and memory that *_create and *_alloc return, and passes
//              each exactly once to the matching *_destroy or *_free. If *_destroy or *_free
//              returns INVALID_ARGUMENT, it has done nothing and the caller still owns the object.
//              After any other failure the object is gone. When a device is lost, all its objects
//              and memory are gone. The same rules hold for `remove` and `close_memory`. All other
//              arguments are borrowed for the call.
//   Order      Work on one stream runs in the order in which it was enqueued, one piece at a time,
//              even if several threads enqueue work. A null stream is the device's default stream.
//              The default stream is a stream like any other: it does not wait for other streams,
//              and other streams do not wait for the default stream. A slot that takes a stream may
//              return before its work is done, but before it returns it must have read all pageable
//              host memory that the work needs. Copies from or to pageable host memory, and copies
//              between devices, may wait for work that was enqueued before them. No other slot that
//              enqueues work may wait for the device. Streams may share an engine: while one stream
//              waits for the host or for another process, other streams may make no progress.
//   Forks      After a process has used a device or started the driver, every slot except
//              last_error, device_count and host_memory.info may fail in its forked children. The
//              text of the failure then names the fork.
//   Growth     New versions of this header only append members to a struct. `struct_size` is the
//              size of the struct in the version that its maker was compiled with. Both sides treat
//              members beyond that size as absent. Members called `reserved` are padding: set them
//              to 0. Outback refuses a group with another value.
#pragma once
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Goes up when a slot changes its meaning: the caller and the runtime must have the same number.
#define OUTBACK_ABI_MAJOR 1
// Goes up when a slot or a group is appended: any two numbers work together.
#define OUTBACK_ABI_MINOR 3
// Means host memory, where an argument or a result is a device index.
#define OUTBACK_HOST (-1)

// The result of a slot. Every number but OUTBACK_OK and OUTBACK_NOT_READY is a failure, and
// last_error() returns its text.
typedef int32_t outback_status;
enum {
  OUTBACK_OK = 0,
  // Not a failure: work is still running. Only streams.query, events.query and events.elapsed
  // return it.
  OUTBACK_NOT_READY = 1,
  // The caller passed an argument that the contract forbids.
  OUTBACK_INVALID_ARGUMENT = 2,
  // There is not enough free memory now. The caller may free some memory, for example by emptying
  // its cache, and try again.
  OUTBACK_OUT_OF_MEMORY = 3,
  // The device is gone for good: every later call on this device fails with this status too.
  OUTBACK_DEVICE_LOST = 4,
  // This device or driver does not have the feature.
  OUTBACK_UNSUPPORTED = 5,
  // Any other failure, a bug of the driver for example.
  OUTBACK_INTERNAL = 6
};

// Handles. Only the runtime that made a handle knows what it points to.
typedef struct outback_stream_* outback_stream;
typedef struct outback_event_* outback_event;
typedef struct outback_graph_* outback_graph;
typedef struct outback_module_* outback_module;
typedef struct outback_kernel_* outback_kernel;

// Bits of outback_device_info.flags.
enum {
  // The CPU may read and write device memory through the same pointer.
  OUTBACK_HOST_ADDRESSABLE = 1u,
  // The device may read and write any host memory, memory from malloc included.
  OUTBACK_ADDRESSES_HOST = 2u,
  // The device and the host share one physical memory.
  OUTBACK_INTEGRATED = 4u,
  // The device's kernels cannot compute with 64-bit floating-point numbers.
  OUTBACK_NO_FLOAT64 = 8u,
  // The device has no arithmetic of its own for 16-bit floating-point numbers (IEEE 754 binary16,
  // or bfloat16): kernels load and store such numbers, and compute with 32 bits.
  OUTBACK_NO_FLOAT16 = 16u,
  OUTBACK_NO_BFLOAT16 = 32u,
  // The device has no atomic operations on 64-bit integers.
  OUTBACK_NO_INT64_ATOMICS = 64u
};

// The properties of a device, written by device_info. Callers read them once and keep them.
typedef struct outback_device_info {
  // Input: the caller's sizeof. A runtime must not write beyond this size.
  uint32_t struct_size;
  // A sum of OUTBACK_HOST_ADDRESSABLE and the other bits above.
  uint32_t flags;
  // All memory of the device, in use or free. More than 0.
  uint64_t memory_size;
  // The largest size of one mem_alloc: 1 to memory_size. Set it to memory_size if the driver has no
  // such limit.
  uint64_t max_alloc_size;
  // Every pointer from mem_alloc is a multiple of this number: a power of two, at least 64.
  uint32_t alignment;
  // The DLPack device type (DLDeviceType in dlpack.h) whose kernels can compute in this memory, in
  // place; 0 for none. 1 is the CPU and requires OUTBACK_HOST_ADDRESSABLE. With 2 (CUDA) or 14
  // (XPU, oneAPI), a PyTorch that was built with kernels for that device type runs them on this
  // memory, on PyTorch's own streams, which native.wrap_stream makes known to the runtime.
  int32_t kernels_of;
  // How many processors the device has, for example CUDA's multiprocessors. compute_units,
  // subgroup_size and max_group_size are 0 if they mean nothing for the device.
  uint32_t compute_units;
  // How many threads run in step, for example in a CUDA warp; the largest if there are several
  // sizes.
  uint32_t subgroup_size;
  // How many threads a group may have at most, for example a CUDA thread block.
  uint32_t max_group_size;
  // CUDA's compute capability or a similar version number; 0 and 0 if the device has none.
  uint16_t capability_major, capability_minor;
  // All zero if the device has no UUID.
  uint8_t uuid[16];
  // UTF-8, null-terminated.
  char name[64];
  // The device's address on the PCI bus, "dddd:bb:dd.f", null-terminated; empty if it has none.
  char pci_id[16];
} outback_device_info;

// Queues of work besides the default stream. In each slot but `destroy` a null stream is the
// default stream.
typedef struct outback_streams {
  uint32_t struct_size;
  uint32_t reserved;
  // Makes a stream, never null. A `priority` outside the range of `priorities` counts as the
  // nearest priority in the range.
  outback_status (*create)(void* self, int32_t device, int32_t priority, outback_stream* stream);
  // Destroys a stream. Work that is queued still runs, and the call does not wait for that work.
  // Null is INVALID_ARGUMENT.
  outback_status (*destroy)(void* self, int32_t device, outback_stream stream);
  // Returns OUTBACK_OK if all work that was enqueued is done, otherwise NOT_READY. Never waits.
  outback_status (*query)(void* self, int32_t device, outback_stream stream);
  // Waits until all work that was enqueued is done.
  outback_status (*sync)(void* self, int32_t device, outback_stream stream);
  // The range of priorities. A lower number is more urgent, 0 is the default: *least >= 0 and
  // *greatest <= 0.
  outback_status (*priorities)(void* self, int32_t device, int32_t* least, int32_t* greatest);
} outback_streams;

// Flags of events.create. A caller may add them up.
enum {
  // events.elapsed may be called for the event.
  OUTBACK_EVENT_TIMING = 1u,
  // A hint: a thread that waits in events.sync sleeps, rather than spins.
  OUTBACK_EVENT_BLOCKING = 2u,
  // ipc.get_event may be called for the event. events.create returns INVALID_ARGUMENT if TIMING is
  // set too, and UNSUPPORTED if the table has no group `ipc`.
  OUTBACK_EVENT_INTERPROCESS = 4u
};

// Marks in streams. An event stands for all work that was on the stream when the event was
// recorded, and is complete when that work is done. An event that was never recorded is complete:
// `query` and `sync` return OUTBACK_OK, and `wait` waits for nothing. Recording an event again
// replaces the work it stands for; waits that were enqueued earlier still wait for the old
// recording.
typedef struct outback_events {
  uint32_t struct_size;
  uint32_t reserved;
  // Makes an event, never null. `flags` is a sum of OUTBACK_EVENT_TIMING and the other flags.
  outback_status (*create)(void* self, int32_t device, uint32_t flags, outback_event* event);
  // Destroys an event, which need not be complete.
  outback_status (*destroy)(void* self, int32_t device, outback_event event);
  // Records the event in the stream. Both belong to `device`.
  outback_status (*record)(void* self, int32_t device, outback_event event, outback_stream stream);
  // Later work of the stream starts when the event is complete; the host does not wait. `stream`
  // belongs to `device`, the event may belong to another device.
  outback_status (*wait)(void* self, int32_t device, outback_event event, outback_stream stream);
  // Returns OUTBACK_OK if the event is complete, otherwise NOT_READY. Never waits.
  outback_status (*query)(void* self, int32_t device, outback_event event);
  // The host waits until the event is complete.
  outback_status (*sync)(void* self, int32_t device, outback_event event);
  // Writes the time from one event to the other, negative if `to` came first. Both events must
  // belong to one device, must be created with TIMING and must be recorded, otherwise
  // INVALID_ARGUMENT. NOT_READY while one of the events is not complete. The time is exact to about
  // a microsecond, and less exact over minutes.
  outback_status (*elapsed)(void* self, outback_event from, outback_event to, int64_t* ns);
} outback_events;

// The facts that host_memory.info writes about a pointer.
typedef struct outback_pointer_info {
  // Input: the caller's sizeof. A runtime must not write beyond this size.
  uint32_t struct_size;
  // The device that owns the memory; OUTBACK_HOST for host memory.
  int32_t device;
  // 1 for host memory that copies may use asynchronously, otherwise 0.
  int32_t pinned;
  int32_t reserved;
  // The beginning of the allocation that contains the pointer; null if the runtime does not know.
  void* base;
  // The size of that allocation; 0 if the runtime does not know.
  size_t size;
} outback_pointer_info;

// Pinned host memory. Copies from or to pinned memory may run asynchronously: they may read or
// write the memory after mem_copy has returned, until the stream has done the copy.
typedef struct outback_host_memory {
  uint32_t struct_size;
  uint32_t reserved;
  // The result is aligned to at least 64 bytes. Zero bytes: *ptr becomes null.
  outback_status (*alloc)(void* self, size_t size, void** ptr);
  // No work may use `ptr` any more. Null may be freed.
  outback_status (*free)(void* self, void* ptr);
  // Writes the facts about a pointer. Any pointer is accepted, also null and pointers into the
  // middle of an allocation. Memory that the runtime does not know is pageable host memory: device
  // OUTBACK_HOST, pinned 0.
  outback_status (*info)(void* self, const void* ptr, outback_pointer_info* info);
} outback_host_memory;

// State that the driver keeps for each device.
typedef struct outback_device_state {
  uint32_t struct_size;
  uint32_t reserved;
  // Makes the device the driver's current device in the calling thread, for a vendor's kernels that
  // rely on a current device. It is the only slot that may change the current device.
  outback_status (*select)(void* self, int32_t device);
  // *active becomes 1 if the driver has a context on the device, otherwise 0. Creates no context.
  outback_status (*is_active)(void* self, int32_t device, int32_t* active);
  // Writes the free and total memory of the whole device, other processes included, as far as the
  // driver tells. May create a context.
  outback_status (*memory_usage)(void* self, int32_t device, size_t* free, size_t* total);
} outback_device_state;

// Pins host memory in place that other code allocated. From then on host_memory.info calls the
// memory pinned and writes the added range as base and size.
typedef struct outback_host_registration {
  uint32_t struct_size;
  uint32_t reserved;
  // Pins a range. INVALID_ARGUMENT if `ptr` is null, if `size` is 0, or if the range overlaps
  // memory that is pinned already. A range that only shares a page with pinned memory may be
  // INVALID_ARGUMENT.
  outback_status (*add)(void* self, void* ptr, size_t size);
  // Ends the pinning of a range. `ptr` is the pointer that was passed to `add`. No work may use the
  // memory any more. The memory itself is not freed: it still belongs to its owner.
  outback_status (*remove)(void* self, void* ptr);
} outback_host_registration;

// Direct access of one device to the memory of another, for kernels. Copies between devices do not
// need this group: if there is no direct access, mem_copy copies another way. A device is not a
// peer of itself: `can_access` writes 0, `enable` and `disable` return INVALID_ARGUMENT.
typedef struct outback_peer {
  uint32_t struct_size;
  uint32_t reserved;
  // *can becomes 1 if `device` can access the memory of `peer`, otherwise 0.
  outback_status (*can_access)(void* self, int32_t device, int32_t peer, int32_t* can);
  // Lets `device` access all memory of `peer`, also memory that is allocated later. Enabling twice
  // is not an error. UNSUPPORTED if `can_access` writes 0.
  outback_status (*enable)(void* self, int32_t device, int32_t peer);
  // Undoes `enable`. No work of `device` may use memory of `peer` any more. Without an earlier
  // `enable` the call does nothing. If code outside this runtime enabled the same access, that
  // access stays enabled.
  outback_status (*disable)(void* self, int32_t device, int32_t peer);
} outback_peer;

// The driver's own objects, for the vendor's kernels and libraries. A handle is a pointer, or a
// number if the driver uses numbers, so null may be a valid handle. Handles are borrowed: the
// runtime owns them, and a handle is valid as long as the device, stream or event that it belongs
// to. A handle of an event is valid only until the event is recorded again: the driver may have
// another object for each recording. A caller that enqueues work on a stream's handle itself must
// keep that work in order with the runtime's work, in the way that the driver requires.
typedef struct outback_native {
  uint32_t struct_size;
  uint32_t reserved;
  // Writes the driver's handle or number of the device.
  outback_status (*device)(void* self, int32_t device, void** handle);
  // Writes the object in which the driver keeps the device's objects: a CUcontext, a
  // ze_context_handle_t. UNSUPPORTED if the driver has no such object.
  outback_status (*context)(void* self, int32_t device, void** handle);
  // Writes the driver's stream or queue behind `stream`.
  outback_status (*stream)(void* self, int32_t device, outback_stream stream, void** handle);
  // Writes the driver's event behind `event`.
  outback_status (*event)(void* self, int32_t device, outback_event event, void** handle);
  // Wraps `handle`, a driver's stream that other code made, in a stream that every slot accepts.
  // The maker of `handle` keeps it alive as long as the new stream exists. The caller passes the
  // new stream to streams.destroy, which leaves `handle` as it is. A null `handle` is
  // INVALID_ARGUMENT unless null is a stream of the driver, as it is in CUDA.
  outback_status (*wrap_stream)(void* self, int32_t device, void* handle, outback_stream* stream);
} outback_native;

// A function of the caller that a stream runs on the host. It runs on a thread of the runtime,
// never on the thread that enqueued it. The runtime may run the callbacks of different streams one
// at a time. A callback must not call a slot, must not throw, and must not wait for work on any
// stream, for another callback, or for a thread that itself waits for stream work or a callback.
typedef void (*outback_callback)(void* data);

// Runs host code in the order of a stream.
typedef struct outback_callbacks {
  uint32_t struct_size;
  uint32_t reserved;
  // Runs `callback(data)` once, when all earlier work of the stream is done. Later work of the
  // stream starts when the callback has returned. The callback never runs if this call fails, or if
  // the device is lost before its turn.
  outback_status (*enqueue)(void* self, int32_t device, outback_callback callback, void* data,
                            outback_stream stream);
} outback_callbacks;

// A message that lets another process share memory or an event. The caller sends it, by any means
// that carry bytes. Both processes run the same runtime on the same machine. Unlike other structs,
// this one must be whole: a `struct_size` that is smaller than the struct is INVALID_ARGUMENT.
typedef struct outback_ipc_handle {
  // Input: the caller's sizeof.
  uint32_t struct_size;
  // How many of `bytes` are used.
  uint32_t size;
  // A file descriptor that the caller must send too (SCM_RIGHTS, pidfd_getfd); -1 if there is none.
  // The receiving process replaces this number by its own number of the descriptor. In both
  // processes the caller owns the descriptor and closes it.
  int32_t fd;
  int32_t reserved;
  // Only the runtime knows what these bytes mean.
  uint8_t bytes[112];
} outback_ipc_handle;

// Memory and events that several processes share.
typedef struct outback_ipc {
  uint32_t struct_size;
  uint32_t reserved;
  // Fills *handle for memory of this process. `ptr` is a pointer that mem_alloc returned. The
  // memory stays where it is, and work may use it during the call: no write is lost. The memory may
  // go away when its owner frees it, so every process that opened the memory must close it before.
  outback_status (*get_memory)(void* self, int32_t device, void* ptr, outback_ipc_handle* handle);
  // Maps memory of another process: both processes see the same bytes. INVALID_ARGUMENT in the
  // process that allocated the memory. A second call for the same memory writes the same pointer
  // again, and the memory must then be closed twice.
  outback_status (*open_memory)(void* self, int32_t device, const outback_ipc_handle* handle,
                                void** ptr);
  // Undoes one `open_memory`. No work of this process may use the memory any more.
  outback_status (*close_memory)(void* self, int32_t device, void* ptr);
  // Fills *handle for an event of this process. INVALID_ARGUMENT unless the event was created with
  // OUTBACK_EVENT_INTERPROCESS.
  outback_status (*get_event)(void* self, int32_t device, outback_event event,
                              outback_ipc_handle* handle);
  // Makes an event that stands for the other process's event: if one process records the event,
  // both see the recording. The caller passes the new event to events.destroy.
  outback_status (*open_event)(void* self, int32_t device, const outback_ipc_handle* handle,
                               outback_event* event);
} outback_ipc;

// Whether a stream is in a capture, as `graphs.status` writes it.
typedef int32_t outback_capture;
enum {
  // The stream is in no capture.
  OUTBACK_CAPTURE_NONE = 0,
  // Work that is enqueued on the stream goes into the graph.
  OUTBACK_CAPTURE_ACTIVE = 1,
  // The capture is broken: `end` will fail, and until then enqueueing is INVALID_ARGUMENT.
  OUTBACK_CAPTURE_BROKEN = 2
};

// Work that is recorded once and launched often, like CUDA graphs.
//
// From `begin` to `end` the stream is in a capture: work that is enqueued on the stream does not
// run, but goes into the graph. A stream that waits for an event which was recorded in a capture
// joins that capture. Before `end`, the stream of `begin` must join all work of the streams that
// joined the capture: it waits for events that were recorded after that work. No stream of a
// capture may be destroyed before `end`. A launch reads and writes the memory that the captured
// calls named, so that memory must still exist. A launch also runs the captured callbacks again.
//
// An event that is recorded in a capture stands for that place in the graph until it is recorded
// again outside of a capture. Streams may wait for the event as long as the capture lasts. Every
// other use of the event is INVALID_ARGUMENT.
//
// The following calls are INVALID_ARGUMENT and break the capture: to sync or query one of its
// streams or one of its events; to sync the device of one of its streams; to let one of its streams
// wait for an event that was recorded outside of the capture (if the event was recorded in another
// capture, that capture breaks too); to copy from or to pageable host memory; to launch a graph.
typedef struct outback_graphs {
  uint32_t struct_size;
  uint32_t reserved;
  // Starts a capture. `stream` must be in no capture.
  outback_status (*begin)(void* self, int32_t device, outback_stream stream);
  // Writes whether `stream` is in a capture. Never breaks a capture.
  outback_status (*status)(void* self, int32_t device, outback_stream stream,
                           outback_capture* capture);
  // Ends the capture and makes its graph, never null. The caller passes the graph to `destroy`.
  // `stream` is the stream of `begin`. The capture ends even if this call fails. The call returns
  // INVALID_ARGUMENT and makes no graph if the capture is broken or if the stream of `begin` did
  // not join the work of another stream of the capture.
  outback_status (*end)(void* self, int32_t device, outback_stream stream, outback_graph* graph);
  // Makes the graph ready to be launched, which may take long. The caller must call this once for
  // each graph: a second call is INVALID_ARGUMENT, and so is a launch before the first call.
  outback_status (*instantiate)(void* self, int32_t device, outback_graph graph);
  // Enqueues the graph as one piece of work of `stream`. Launches of one graph run one after
  // another in the order of the calls, even on different streams.
  outback_status (*launch)(void* self, int32_t device, outback_graph graph, outback_stream stream);
  // Destroys the graph. A launch that is not done yet still runs.
  outback_status (*destroy)(void* self, int32_t device, outback_graph graph);
} outback_graphs;

// The measurements that `telemetry.read` offers.
typedef int32_t outback_metric;
enum {
  // The percentage of the last moment in which work ran.
  OUTBACK_METRIC_UTILIZATION = 1,
  // The percentage of the last moment in which device memory was read or written.
  OUTBACK_METRIC_MEMORY_UTILIZATION = 2,
  // Bytes of device memory that this process uses, whichever of its libraries allocated them.
  OUTBACK_METRIC_MEMORY_USED = 3,
  // Thousandths of a degree Celsius.
  OUTBACK_METRIC_TEMPERATURE = 4,
  // Milliwatts.
  OUTBACK_METRIC_POWER = 5,
  // Hertz.
  OUTBACK_METRIC_CLOCK = 6,
  // Bytes of device memory that all processes use. Creates no context.
  OUTBACK_METRIC_DEVICE_MEMORY_USED = 7
};

// Stands for an unknown amount: the driver does not say how much memory a process uses.
#define OUTBACK_UNKNOWN_MEMORY UINT64_MAX

// A process that uses a device.
typedef struct outback_process {
  // The driver's number of the process. In a container the process may have another number.
  int64_t pid;
  // Bytes of device memory, or OUTBACK_UNKNOWN_MEMORY.
  uint64_t memory;
} outback_process;

// The list that `telemetry.processes` writes.
typedef struct outback_processes {
  // Input: the caller's sizeof. It determines how many entries of `list` the caller has room for.
  uint32_t struct_size;
  // How many processes there are, even if `list` has no room for all of them.
  uint32_t count;
  outback_process list[128];
} outback_processes;

// Measurements of a device while it works.
typedef struct outback_telemetry {
  uint32_t struct_size;
  uint32_t reserved;
  // Reads one measurement. UNSUPPORTED for a metric that this device does not measure or that the
  // runtime does not know.
  outback_status (*read)(void* self, int32_t device, outback_metric metric, int64_t* value);
  // Lists the processes that use the device. UNSUPPORTED if the driver does not tell.
  outback_status (*processes)(void* self, int32_t device, outback_processes* processes);
} outback_telemetry;

// The kind of work that a record describes. A reader treats a number that it does not know as
// OTHER.
typedef int32_t outback_record_kind;
enum {
  OUTBACK_RECORD_KERNEL = 1,
  OUTBACK_RECORD_COPY_TO_DEVICE = 2,
  OUTBACK_RECORD_COPY_TO_HOST = 3,
  // Within one device.
  OUTBACK_RECORD_COPY_WITHIN = 4,
  // Between two devices. The record belongs to the device whose stream made the copy.
  OUTBACK_RECORD_COPY_BETWEEN = 5,
  OUTBACK_RECORD_FILL = 6,
  // A host function that the stream ran: from callbacks.enqueue, or the driver's own.
  OUTBACK_RECORD_CALLBACK = 7,
  // All of one launch of a graph.
  OUTBACK_RECORD_GRAPH = 8,
  OUTBACK_RECORD_OTHER = 9
};

// Bits of outback_record.flags.
enum {
  // The work is a part of a launch of a graph. The launch may have a record of its own too.
  OUTBACK_RECORD_IN_GRAPH = 1u
};

// One piece of work that a device has done. This struct never grows.
typedef struct outback_record {
  outback_record_kind kind;
  // OUTBACK_RECORD_IN_GRAPH or 0. Readers must ignore other bits: later versions may define some.
  uint32_t flags;
  // The stream's number, as activity.stream writes it.
  uint64_t stream;
  // When the device began and when it finished the work, on the clock of activity.clock; begin <=
  // end.
  int64_t begin, end;
  // How many bytes a copy or a fill wrote; 0 for other work.
  uint64_t bytes;
  // The number that the thread which enqueued the work had pushed last (activity.push); 0 for none.
  // Work in a graph has the number that was pushed when the graph was launched.
  uint64_t correlation;
  // The driver's name of a kernel, UTF-8, null-terminated; null if there is no name. Valid until
  // the process ends.
  const char* name;
  uint64_t reserved;
} outback_record;

// The records that `activity.read` writes. Unlike most structs, this one must be whole: a
// `struct_size` that is smaller than the struct is INVALID_ARGUMENT.
typedef struct outback_records {
  // Input: the caller's sizeof.
  uint32_t struct_size;
  // How many entries of `list` the runtime wrote.
  uint32_t count;
  // How many records were lost since the last `read`, because the runtime's buffer was full.
  uint64_t lost;
  outback_record list[256];
} outback_records;

// The driver's own records of what a device does and when, for example from CUPTI or Level Zero's
// tracing. They cover all work on the device that this process enqueues, including work that
// libraries enqueue without the runtime. A recording begins when `start` returns, and it covers the
// work that is enqueued from then on. Without a recording no records are kept, and work is as fast
// as without this group. Records come in no particular order. There are no records of work that the
// driver cannot record, for example callbacks.
//
// A forked child is in no recording. It may begin its own if it may use the device, and the
// parent's recording goes on. When a device is lost, its recording is over and its records are
// gone.
typedef struct outback_activity {
  uint32_t struct_size;
  uint32_t reserved;
  // Begins to record the work of `device`, and drops unread records of an earlier recording.
  // INVALID_ARGUMENT if `device` is in a recording already: a record can be read only once, so
  // there can be only one reader. UNSUPPORTED if this device or its driver cannot record, or if
  // another program or library uses the driver's recording.
  outback_status (*start)(void* self, int32_t device);
  // Ends the recording. Does not wait, and loses no record of finished work. The records of
  // unfinished work may be missing: to get them, wait for the work before you call `stop`.
  // INVALID_ARGUMENT if `device` is in no recording.
  outback_status (*stop)(void* self, int32_t device);
  // Makes the records of all work that was done before this call available to `read`: without
  // `flush` the driver may hold records back for a while. May wait for the driver, but does not
  // wait for work. May be called in a recording and after it.
  outback_status (*flush)(void* self, int32_t device);
  // Moves as many records to the caller as `list` has room for, in a recording and after it. If the
  // list is not full, there are no more records now. The runtime keeps at least 65536 unread
  // records for each device. It may drop later records, and counts them in `lost`.
  outback_status (*read)(void* self, int32_t device, outback_records* records);
  // Writes the time now, on the clock that the records of `device` use. During a recording the
  // clock never goes back, and its speed differs from that of the host's clock by a thousandth at
  // most.
  outback_status (*clock)(void* self, int32_t device, int64_t* ns);
  // Writes the number that records use for `stream`; null is the default stream. A stream of
  // native.wrap_stream has the number of the driver's stream behind it. No other stream of the
  // device has the same number while the process runs.
  outback_status (*stream)(void* self, int32_t device, outback_stream stream, uint64_t* number);
  // Until the matching `pop`, work that the calling thread enqueues, on any device, has this number
  // in its records. The caller chooses the numbers; 0 counts as none. Pairs may be nested 64 deep,
  // and the innermost number counts. A deeper push is INVALID_ARGUMENT. May be called without a
  // recording.
  outback_status (*push)(void* self, uint64_t correlation);
  // Ends the calling thread's last open `push`, and writes its number. INVALID_ARGUMENT if no
  // `push` is open.
  outback_status (*pop)(void* self, uint64_t* correlation);
} outback_activity;

// Ranges that name what a thread does, for the driver's tools: for example NVTX ranges for Nsight,
// or ITT ranges for VTune. A range belongs to the calling thread and to no device. If no tool
// watches, the slots do nothing and cost little.
typedef struct outback_ranges {
  uint32_t struct_size;
  uint32_t reserved;
  // Opens a range inside the calling thread's open ranges. `name` is UTF-8, null-terminated.
  outback_status (*push)(void* self, const char* name);
  // Closes the range that the calling thread opened last. The caller must have opened one: a
  // runtime need not check.
  outback_status (*pop)(void* self);
  // Marks the present moment. `name` is UTF-8, null-terminated.
  outback_status (*mark)(void* self, const char* name);
} outback_ranges;

// What the bytes of a module are. A runtime takes the formats that its driver takes. Numbers from
// 1000 on are the vendor's own.
typedef int32_t outback_format;
enum {
  // An ELF shared object for the host's processor, with kernels as in outback/host_kernel.h.
  OUTBACK_FORMAT_HOST = 1,
  // A SPIR-V module with OpenCL's kernels (execution model Kernel).
  OUTBACK_FORMAT_SPIRV = 2,
  // CUDA's assembly language, as text.
  OUTBACK_FORMAT_PTX = 3,
  // Machine code for NVIDIA's devices: a cubin or a fatbin.
  OUTBACK_FORMAT_CUBIN = 4,
  // Machine code for AMD's devices: a HIP code object.
  OUTBACK_FORMAT_HSACO = 5,
  // OpenCL C, as text.
  OUTBACK_FORMAT_OPENCL_C = 6
};

// The list that `kernels.formats` writes.
typedef struct outback_formats {
  // Input: the caller's sizeof. A runtime must not write beyond this size.
  uint32_t struct_size;
  // How many entries of `list` the runtime wrote, at least 1.
  uint32_t count;
  // The formats that module_load takes, the best one first.
  outback_format list[16];
  // The driver's name for what machine code must be compiled for, for example "sm_90" or "gfx90a":
  // UTF-8, null-terminated; empty if the driver has no such name.
  char target[64];
} outback_formats;

// The facts that `kernels.info` writes about a kernel.
typedef struct outback_kernel_info {
  // Input: the caller's sizeof. A runtime must not write beyond this size.
  uint32_t struct_size;
  // How many arguments a launch must have; -1 if the driver does not tell.
  int32_t argument_count;
  // How many items a group may have at most for this kernel. This and all further members are 0 if
  // the driver does not tell.
  uint32_t max_items;
  // How many items run in step.
  uint32_t subgroup_size;
  // How many registers an item uses.
  uint32_t registers;
  uint32_t reserved;
  // Bytes of local memory that a group uses besides outback_launch.local_size.
  uint64_t local_size;
  // Bytes of device memory that each item uses for itself, for example for spilled registers.
  uint64_t private_size;
} outback_kernel_info;

// One argument of a kernel, passed by value.
typedef struct outback_argument {
  // Points to the argument's bytes: a number, a device pointer, or a struct.
  const void* value;
  // How many bytes the argument has, at least 1.
  uint32_t size;
  // 1 if the argument is a device pointer: it may be null and may point into the middle of an
  // allocation, and `size` is sizeof(void*). Otherwise 0. A struct may contain device pointers only
  // if device_info has OUTBACK_HOST_ADDRESSABLE or if the driver lets kernels follow any pointer.
  uint32_t is_memory;
} outback_argument;

// How `kernels.launch` runs a kernel: groups[0] x groups[1] x groups[2] groups, of items[0] x
// items[1] x items[2] items each. The launch and everything that it points to are read before the
// call returns.
typedef struct outback_launch {
  // The caller's sizeof.
  uint32_t struct_size;
  uint32_t argument_count;
  // In the order of the kernel's parameters; may be null if there are none.
  const outback_argument* arguments;
  // If one of the three is 0, the launch does nothing.
  uint32_t groups[3];
  // Each at least 1.
  uint32_t items[3];
  // Bytes of local memory for each group, for a kernel that leaves their number to the launch. In
  // OpenCL C and SPIR-V the kernel's last parameter is then a pointer to local memory, and
  // `arguments` does not have that parameter. Otherwise 0.
  uint64_t local_size;
} outback_launch;

// Code that the device runs. The caller owns a module; a kernel belongs to its module.
typedef struct outback_kernels {
  uint32_t struct_size;
  uint32_t reserved;
  // Writes the formats that module_load takes. They stay the same as long as the process runs.
  outback_status (*formats)(void* self, int32_t device, outback_formats* formats);
  // Makes a module of `size` bytes, never null. May compile, and may take seconds. UNSUPPORTED if
  // the runtime does not take the format. INVALID_ARGUMENT if the driver refuses the bytes:
  // last_error() then begins with the driver's or the compiler's own words. Text needs no null
  // character at its end.
  outback_status (*module_load)(void* self, int32_t device, outback_format format,
                                const void* bytes, size_t size, outback_module* module);
  // Unloads a module. Its kernels are gone. Launches that are not done yet still run, and so do
  // graphs that have launches of the module's kernels. Does not wait.
  outback_status (*module_unload)(void* self, int32_t device, outback_module module);
  // Writes the kernel of this name, never null, and for one name the same kernel each time. `name`
  // is UTF-8, null-terminated. INVALID_ARGUMENT if the module has no such kernel.
  outback_status (*kernel)(void* self, int32_t device, outback_module module, const char* name,
                           outback_kernel* kernel);
  // Writes the facts about a kernel.
  outback_status (*info)(void* self, int32_t device, outback_kernel kernel,
                         outback_kernel_info* info);
  // Enqueues one piece of work on the stream. Several threads may launch one kernel at once.
  // INVALID_ARGUMENT if the number or a size of the arguments does not fit the kernel, as far as
  // the driver tells, or if the device cannot run that many groups or items, or cannot give a group
  // that much local memory. A kernel that faults while it runs is a failure of work that was
  // enqueued.
  outback_status (*launch)(void* self, int32_t device, outback_kernel kernel,
                           const outback_launch* launch, outback_stream stream);
} outback_kernels;

// The table. The table and everything that it points to must be valid until the process ends, since
// tensors may outlive main().
typedef struct outback_runtime {
  // sizeof(outback_runtime) where the runtime was compiled.
  uint32_t struct_size;
  // OUTBACK_ABI_MAJOR and OUTBACK_ABI_MINOR where the runtime was compiled.
  uint16_t abi_major, abi_minor;
  // The first argument of every slot. Only the runtime knows what it points to.
  void* self;

  // ---- Required: with these eight, tensors live on the device.

  // Returns the text of the calling thread's last failure. Never null; "" before the first failure.
  // The pointer is valid until this thread's next failure. Callers read the text as UTF-8.
  const char* (*last_error)(void* self);
  // Counts the devices. Creates no context. Safe before a fork, unless the driver must be started
  // to count. 0 devices is a valid count, not a failure. The number stays the same as long as the
  // process runs.
  outback_status (*device_count)(void* self, int32_t* count);
  // Writes the properties of a device. If device_count writes 0, a call for device 0 fails, and
  // users see its text as the reason.
  outback_status (*device_info)(void* self, int32_t device, outback_device_info* info);
  // Waits until all streams of the device have done their work, also streams that were destroyed
  // with work left.
  outback_status (*device_sync)(void* self, int32_t device);
  // Allocates device memory, aligned to outback_device_info.alignment. Zero bytes: *ptr becomes
  // null. If the device is full, the status must be OUT_OF_MEMORY.
  outback_status (*mem_alloc)(void* self, int32_t device, size_t size, void** ptr);
  // No work may use `ptr` any more. Null may be freed.
  outback_status (*mem_free)(void* self, int32_t device, void* ptr);
  // Copies `size` bytes; zero bytes change nothing, and then the pointers may be null. A device
  // index of OUTBACK_HOST is host memory; host to host is INVALID_ARGUMENT. The ranges must not
  // overlap. The stream belongs to the source's device, or to the destination's if the source is
  // host memory.
  outback_status (*mem_copy)(void* self, void* dst, int32_t dst_device, const void* src,
                             int32_t src_device, size_t size, outback_stream stream);
  // Fills `size` bytes with the pattern, over and over. `pattern` is 1, 2, 4 or 8 bytes long and is
  // read before the call returns. `size` must be a multiple of `pattern_size`; zero bytes change
  // nothing.
  outback_status (*mem_fill)(void* self, int32_t device, void* ptr, size_t size,
                             const void* pattern, size_t pattern_size, outback_stream stream);

  // ---- Optional: a null group means "this device has none". A table with half a group is refused.
  const outback_streams* streams;
  const outback_events* events;  // needs `streams`
  const outback_host_memory* host_memory;
  const outback_device_state* device_state;
  const outback_host_registration* host_registration;  // needs `host_memory`
  const outback_peer* peer;
  const outback_native* native;        // needs `streams` and `events`
  const outback_callbacks* callbacks;  // needs `streams`
  const outback_ipc* ipc;              // needs `streams` and `events`
  const outback_graphs* graphs;        // needs `streams` and `events`
  const outback_telemetry* telemetry;
  const outback_activity* activity;  // since OUTBACK_ABI_MINOR 1
  const outback_ranges* ranges;      // since OUTBACK_ABI_MINOR 2
  const outback_kernels* kernels;    // since OUTBACK_ABI_MINOR 3
} outback_runtime;

#ifdef __cplusplus
}  // extern "C"
#endif
