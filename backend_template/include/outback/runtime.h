// What a device must offer to become a PyTorch backend. Plain C11: no torch, no Python, no C++.
//
// These hold for every slot unless its comment says otherwise.
//   Errors     OUTBACK_OK or a failure code. A failure leaves the outputs untouched, and its text
//              awaits the calling thread in last_error(). Slots never throw and never abort. A
//              device index that there is not, and null where there has to be something, are
//              OUTBACK_INVALID_ARGUMENT. Work that was enqueued and fails later is reported once,
//              by the next sync or query of its stream, or loses the device.
//   Threads    Any slot may be called from any thread at any time. No lock of the caller is held.
//   Devices    Every slot that has a device takes its index, 0 to count - 1. None depends on a
//              "current" device, and none changes the one of the calling thread.
//   Units      Sizes are bytes, times are nanoseconds.
//   Ownership  What *_create or *_alloc returns is the caller's until it goes, once, to its
//              *_destroy or *_free. Where that answers INVALID_ARGUMENT it did nothing; after any
//              other failure what it was given is gone, and so is all that a lost device had. The
//              same holds for `remove` and `close_memory`. Everything else is borrowed for the
//              call.
//   Order      Work on one stream runs in the order in which it was enqueued, one piece at a time,
//              also where several threads enqueue it. A null stream is the device's default stream,
//              which is a stream like any other: it does not wait for the others, and they do not
//              wait for it. A slot that takes a stream may return before its work is done; then it
//              no longer reads pageable host memory. Copies from or to pageable host memory, and
//              between devices, may wait for what was enqueued before them; nothing else that
//              enqueues waits for the device. Streams may share an engine: while one of them waits
//              for the host or for another process, others may stand still.
//   Forks      A child of a process that has used a device, or started the driver, may be refused
//              by every slot but last_error, device_count and host_memory.info, with a text that
//              says so.
//   Growth     Members are only ever appended. `struct_size` says how much of a struct its maker
//              had: what lies beyond is absent, for both sides.
#pragma once
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define OUTBACK_ABI_MAJOR 1  // a slot changed its meaning: must match
#define OUTBACK_ABI_MINOR 0  // a slot was appended: any mix works
#define OUTBACK_HOST (-1)    // host memory, where a device index is expected

typedef int32_t outback_status;
enum {
  OUTBACK_OK = 0,
  OUTBACK_NOT_READY = 1,  // an answer, not a failure: work is still running
  OUTBACK_INVALID_ARGUMENT = 2,
  OUTBACK_OUT_OF_MEMORY = 3,  // the caller may empty its cache and try once more
  OUTBACK_DEVICE_LOST = 4,    // sticky: every later call on this device fails too
  OUTBACK_UNSUPPORTED = 5,    // this device or driver has not got it
  OUTBACK_INTERNAL = 6
};

typedef struct outback_stream_* outback_stream;
typedef struct outback_event_* outback_event;
typedef struct outback_graph_* outback_graph;

// outback_device_info.flags
enum {
  OUTBACK_HOST_ADDRESSABLE =
      1u,                       // the CPU may read and write device memory through the same pointer
  OUTBACK_ADDRESSES_HOST = 2u,  // the device may read and write any host memory, malloc's included
  OUTBACK_INTEGRATED = 4u       // device and host share one physical memory
};

typedef struct outback_device_info {
  uint32_t struct_size;  // in: the caller's sizeof. A runtime writes no further than that
  uint32_t flags;
  uint64_t memory_size;     // total, not what is free now
  uint64_t max_alloc_size;  // of one mem_alloc; memory_size where there is no such limit
  uint32_t alignment;       // of every mem_alloc result; a power of two, at least 64
  int32_t kernels_of;       // DLPack device type whose kernels can use this memory in place, or 0
  uint32_t compute_units;   // 0 where it means nothing, as for the two below
  uint32_t subgroup_size;
  uint32_t max_group_size;
  uint16_t capability_major, capability_minor;
  uint8_t uuid[16];  // all zero where the device has none
  char name[64];     // UTF-8, null-terminated
  char pci_id[16];   // "dddd:bb:dd.f", null-terminated; empty where there is none
} outback_device_info;

typedef struct outback_streams {
  uint32_t struct_size;
  uint32_t reserved;
  // `priority` is clamped to what `priorities` answers.
  outback_status (*create)(void* self, int32_t device, int32_t priority, outback_stream* stream);
  // Queued work still runs; the call does not wait for it. Null is refused.
  outback_status (*destroy)(void* self, int32_t device, outback_stream stream);
  outback_status (*query)(void* self, int32_t device, outback_stream stream);  // or NOT_READY
  outback_status (*sync)(void* self, int32_t device, outback_stream stream);
  // Lower is more urgent, 0 is the default: least >= 0 >= greatest.
  outback_status (*priorities)(void* self, int32_t device, int32_t* least, int32_t* greatest);
} outback_streams;

// INTERPROCESS together with TIMING is INVALID_ARGUMENT; alone, UNSUPPORTED where there is no
// `ipc`.
// BLOCKING is a hint: a thread that waits sleeps rather than spins.
enum { OUTBACK_EVENT_TIMING = 1u, OUTBACK_EVENT_BLOCKING = 2u, OUTBACK_EVENT_INTERPROCESS = 4u };

// An event that was never recorded is complete: `query` and `sync` answer OUTBACK_OK, `wait` waits
// for nothing. Recording it again replaces what it stands for; waits enqueued before keep the old
// meaning.
typedef struct outback_events {
  uint32_t struct_size;
  uint32_t reserved;
  outback_status (*create)(void* self, int32_t device, uint32_t flags, outback_event* event);
  // Legal while the event is still pending.
  outback_status (*destroy)(void* self, int32_t device, outback_event event);
  outback_status (*record)(void* self, int32_t device, outback_event event, outback_stream stream);
  // `stream` is one of `device`; the event may belong to another device.
  outback_status (*wait)(void* self, int32_t device, outback_event event, outback_stream stream);
  outback_status (*query)(void* self, int32_t device, outback_event event);  // or NOT_READY
  outback_status (*sync)(void* self, int32_t device, outback_event event);   // the host waits
  // Both are of one device, were created with TIMING and recorded: INVALID_ARGUMENT if not.
  // NOT_READY while one is pending. To a microsecond or so, and coarser over minutes.
  outback_status (*elapsed)(void* self, outback_event from, outback_event to, int64_t* ns);
} outback_events;

typedef struct outback_pointer_info {
  uint32_t struct_size;  // in: the caller's sizeof
  int32_t device;        // of the memory; OUTBACK_HOST for host memory
  int32_t pinned;        // 1: host memory that copies may use asynchronously
  int32_t reserved;
  void* base;   // of the allocation that holds the pointer; null where the runtime does not know it
  size_t size;  // of that allocation; 0 likewise
} outback_pointer_info;

// Pinned host memory. Copies from or to it may run asynchronously.
typedef struct outback_host_memory {
  uint32_t struct_size;
  uint32_t reserved;
  outback_status (*alloc)(void* self, size_t size, void** ptr);  // aligned to at least 64
  outback_status (*free)(void* self, void* ptr);                 // no work may use ptr any more
  // Any pointer, interior ones too. Memory that the runtime does not know is pageable host memory.
  outback_status (*info)(void* self, const void* ptr, outback_pointer_info* info);
} outback_host_memory;

typedef struct outback_device_state {
  uint32_t struct_size;
  uint32_t reserved;
  // Tells the driver that the calling thread goes on with this device, for a vendor's own kernels
  // that rely on a current device. The only slot that may change the driver's notion of one.
  outback_status (*select)(void* self, int32_t device);
  // 1 when a context exists on the device. Creates none.
  outback_status (*is_active)(void* self, int32_t device, int32_t* active);
  // Of the whole device, other processes included, as far as the driver tells. May make a context.
  outback_status (*memory_usage)(void* self, int32_t device, size_t* free, size_t* total);
} outback_device_state;

// Host memory of others that becomes pinned where it is: host_memory.info says so from then on,
// with the range that was added as base and size.
typedef struct outback_host_registration {
  uint32_t struct_size;
  uint32_t reserved;
  // Not null and not empty. A range that meets memory which is pinned already is INVALID_ARGUMENT;
  // one that shares only a page with such memory may be.
  outback_status (*add)(void* self, void* ptr, size_t size);
  // `ptr` as it was added. No work may use the memory any more; whose it is, it stays.
  outback_status (*remove)(void* self, void* ptr);
} outback_host_registration;

// Direct access of one device to the memory of another, for kernels. Copies between devices need
// none of it: mem_copy goes another way where there is no direct one. A device is no peer of
// itself: `can_access` answers 0, the two others INVALID_ARGUMENT.
typedef struct outback_peer {
  uint32_t struct_size;
  uint32_t reserved;
  outback_status (*can_access)(void* self, int32_t device, int32_t peer, int32_t* can);
  // All memory of `peer`, what is allocated later too. Again is no error; UNSUPPORTED where
  // can_access answers 0.
  outback_status (*enable)(void* self, int32_t device, int32_t peer);
  // What was not enabled is no error, and what others than the caller's runtime enabled stays. No
  // work of `device` may use memory of `peer` any more.
  outback_status (*disable)(void* self, int32_t device, int32_t peer);
} outback_peer;

// The driver's own objects, for a vendor's kernels and libraries; a number, where the driver has
// those, so that null may be one. What is borrowed stays the runtime's: valid as long as what it
// was asked of, but for an event, which may be another object of the driver's after each recording.
// Who enqueues on such a stream beside the runtime keeps the order as the driver asks for it.
typedef struct outback_native {
  uint32_t struct_size;
  uint32_t reserved;
  outback_status (*device)(void* self, int32_t device, void** handle);
  // In which the device's objects live: a CUcontext, a ze_context_handle_t. UNSUPPORTED where the
  // driver has no such thing.
  outback_status (*context)(void* self, int32_t device, void** handle);
  outback_status (*stream)(void* self, int32_t device, outback_stream stream, void** handle);
  outback_status (*event)(void* self, int32_t device, outback_event event, void** handle);
  // A stream of the driver's that somebody else made, and keeps alive: as one that every slot
  // takes. It goes to streams.destroy, which leaves `handle` as it is. Null is INVALID_ARGUMENT
  // unless it is a stream of the driver's, as with CUDA.
  outback_status (*wrap_stream)(void* self, int32_t device, void* handle, outback_stream* stream);
} outback_native;

// Runs on a thread of the runtime's; those of different streams may run one at a time. It must not
// call a slot, wait for work on any stream, for another callback or for a thread that does, or
// throw.
typedef void (*outback_callback)(void* data);

typedef struct outback_callbacks {
  uint32_t struct_size;
  uint32_t reserved;
  // Runs `callback(data)` once, when the stream gets there; the stream goes on when it returned. A
  // call that failed, and a device that was lost meanwhile, never run it.
  outback_status (*enqueue)(void* self, int32_t device, outback_callback callback, void* data,
                            outback_stream stream);
} outback_callbacks;

// What one process tells another, over whatever carries bytes between them, so that both share
// memory or an event. The two run the same runtime on the same machine. Other than for other
// structs, a struct_size below all of it is INVALID_ARGUMENT.
typedef struct outback_ipc_handle {
  uint32_t struct_size;  // in: the caller's sizeof
  uint32_t size;         // of what counts in `bytes`
  int32_t fd;  // a descriptor that has to reach the other process (SCM_RIGHTS, pidfd_getfd)
               // and takes this place there; -1 where there is none. It is the caller's,
               // who closes it, on both sides.
  int32_t reserved;
  uint8_t bytes[112];
} outback_ipc_handle;

typedef struct outback_ipc {
  uint32_t struct_size;
  uint32_t reserved;
  // `ptr` is what mem_alloc answered. The memory lives until its owner frees it, and until then at
  // least; whoever opened it must have closed it before. No work may use it during the call.
  outback_status (*get_memory)(void* self, int32_t device, void* ptr, outback_ipc_handle* handle);
  // In another process: the same bytes. In the process that allocated them: INVALID_ARGUMENT.
  // Opened twice, it answers the same pointer twice, and is closed twice.
  outback_status (*open_memory)(void* self, int32_t device, const outback_ipc_handle* handle,
                                void** ptr);
  outback_status (*close_memory)(void* self, int32_t device, void* ptr);  // no work may use it
  // The event was created with OUTBACK_EVENT_INTERPROCESS, and without TIMING.
  outback_status (*get_event)(void* self, int32_t device, outback_event event,
                              outback_ipc_handle* handle);
  // Goes to events.destroy. What either process records, both see.
  outback_status (*open_event)(void* self, int32_t device, const outback_ipc_handle* handle,
                               outback_event* event);
} outback_ipc;

typedef int32_t outback_capture;
enum {
  OUTBACK_CAPTURE_NONE = 0,
  OUTBACK_CAPTURE_ACTIVE = 1,
  OUTBACK_CAPTURE_BROKEN = 2  // `end` will fail; until then enqueueing is INVALID_ARGUMENT
};

// Work that is recorded once and launched often.
//
// From `begin` to `end` what is enqueued on the stream does not run: it goes into the graph. A
// stream that waits for an event which was recorded in a capture becomes a part of that capture,
// and what it enqueues has to be joined before `end`, by an event that the first stream waits for.
// No stream of a capture is destroyed before `end`. A launch reads and writes the memory that was
// named in the capture, which has to be there still, and runs the callbacks once more.
//
// An event that is recorded in a capture stands for that place, and for nothing else, until it is
// recorded again outside of one: streams may wait for it as long as the capture lasts, all else is
// INVALID_ARGUMENT.
//
// These are INVALID_ARGUMENT and break the capture: waiting for one of its streams, for the device
// of one or for one of its events, or asking whether they are done; a stream of it that waits for
// an event which was recorded outside, or in another capture, which breaks too; copies from or to
// pageable host memory; launches.
typedef struct outback_graphs {
  uint32_t struct_size;
  uint32_t reserved;
  // `stream` is in no capture.
  outback_status (*begin)(void* self, int32_t device, outback_stream stream);
  outback_status (*status)(void* self, int32_t device, outback_stream stream,
                           outback_capture* capture);
  // On the stream of `begin`. Ends the capture also where it fails; a broken one, and one with a
  // stream that was not joined, is INVALID_ARGUMENT and leaves no graph.
  outback_status (*end)(void* self, int32_t device, outback_stream stream, outback_graph* graph);
  // Makes it ready to be launched, which may take long. Once: again it is INVALID_ARGUMENT, and so
  // is a launch before.
  outback_status (*instantiate)(void* self, int32_t device, outback_graph graph);
  // As one piece of work of `stream`. Launches of one graph run one after another, on whichever
  // streams, in the order of the calls.
  outback_status (*launch)(void* self, int32_t device, outback_graph graph, outback_stream stream);
  // Legal while a launch is pending.
  outback_status (*destroy)(void* self, int32_t device, outback_graph graph);
} outback_graphs;

// What `telemetry.read` can be asked for.
typedef int32_t outback_metric;
enum {
  OUTBACK_METRIC_UTILIZATION = 1,         // percent of the last moment in which work ran
  OUTBACK_METRIC_MEMORY_UTILIZATION = 2,  // percent of it in which memory was read or written
  OUTBACK_METRIC_MEMORY_USED = 3,         // bytes, of this process, whoever allocated them
  OUTBACK_METRIC_TEMPERATURE = 4,         // thousandths of a degree Celsius
  OUTBACK_METRIC_POWER = 5,               // milliwatts
  OUTBACK_METRIC_CLOCK = 6,               // hertz
  OUTBACK_METRIC_DEVICE_MEMORY_USED = 7   // bytes, of all processes. Makes no context
};

#define OUTBACK_UNKNOWN_MEMORY UINT64_MAX

typedef struct outback_process {
  int64_t pid;      // as the driver counts: in a container it may be another number than ours
  uint64_t memory;  // bytes of the device's, or OUTBACK_UNKNOWN_MEMORY
} outback_process;

typedef struct outback_processes {
  uint32_t struct_size;  // in: the caller's, which is how much of `list` there is room for
  uint32_t count;        // of all that there are, also where the room was not enough
  outback_process list[128];
} outback_processes;

typedef struct outback_telemetry {
  uint32_t struct_size;
  uint32_t reserved;
  // UNSUPPORTED for what this device does not measure, and for a metric that it does not know.
  outback_status (*read)(void* self, int32_t device, outback_metric metric, int64_t* value);
  // Those that use the device. UNSUPPORTED where the driver does not tell.
  outback_status (*processes)(void* self, int32_t device, outback_processes* processes);
} outback_telemetry;

typedef struct outback_runtime {
  uint32_t struct_size;  // sizeof(outback_runtime) where the runtime was compiled
  uint16_t abi_major, abi_minor;
  void* self;  // first argument of every slot; valid until the process ends

  // ---- Required: with these eight, tensors live on the device.

  // Never null; "" before the first failure. Valid until this thread's next failure.
  const char* (*last_error)(void* self);
  // Creates no context. Safe before a fork, unless the driver has to be started to count. 0 devices
  // is an answer, not a failure. The same number as long as the process runs.
  outback_status (*device_count)(void* self, int32_t* count);
  outback_status (*device_info)(void* self, int32_t device, outback_device_info* info);
  outback_status (*device_sync)(void* self, int32_t device);  // waits for all its streams
  // Zero bytes: *ptr becomes null, and null may be freed.
  outback_status (*mem_alloc)(void* self, int32_t device, size_t size, void** ptr);
  outback_status (*mem_free)(void* self, int32_t device,
                             void* ptr);  // no work may use ptr any more
  // The stream belongs to the source's device; to the destination's where the source is the host.
  // The ranges do not overlap. Host to host is INVALID_ARGUMENT.
  outback_status (*mem_copy)(void* self, void* dst, int32_t dst_device, const void* src,
                             int32_t src_device, size_t size, outback_stream stream);
  // `pattern` is 1, 2, 4 or 8 bytes long and read before the call returns; size is a multiple of
  // it.
  outback_status (*mem_fill)(void* self, int32_t device, void* ptr, size_t size,
                             const void* pattern, size_t pattern_size, outback_stream stream);

  // ---- Optional: a null group means "this device has none"; a group is whole or it is refused.
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
} outback_runtime;

#ifdef __cplusplus
}  // extern "C"
#endif
