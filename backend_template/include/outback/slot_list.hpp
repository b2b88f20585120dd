// The list of all slots: which member of a C++ class stands for a slot of outback/runtime.h, and
// what each argument of the slot means. All code that must know every slot is made from this list:
// the check of a table, the table of a class and the messages about its members, and the layers.
//
// To add a slot, declare it in outback/runtime.h and add its row here. A file that includes
// outback/detail/slots.hpp does not compile as long as declaration and row differ. This file has
// only macros.
#pragma once

// Rows: X(group, slot, member, result, (parameters), arguments...)
//
//   group, slot         the group and the name in outback/runtime.h. The group of the required
//                       slots is "runtime".
//   member              the member of a C++ class (outback/runtime.hpp) that the slot calls. The
//                       type of the slot in namespace outback::slots has the same name.
//   result, parameters  the declaration of that member. Messages quote it.
//   arguments           the slot's arguments after `self`: the member's parameters, then the
//                       outputs, to which the member's result is written. Each argument has a role:
//                       see `slots::role`.
//
// A result of type bool without an output, or of type std::optional, says whether work is done:
// false and nullopt become OUTBACK_NOT_READY. A bool with an output becomes 1 or 0.

#define OUTBACK_SLOTS_OF_runtime(X)                                                              \
  X(runtime, device_count, device_count, int32_t, (), output("count"))                           \
  X(runtime, device_info, device_info, outback_device_info, (int32_t device), device,            \
    output("info"))                                                                              \
  X(runtime, device_sync, device_sync, void, (int32_t device), device)                           \
  X(runtime, mem_alloc, mem_alloc, void*, (int32_t device, std::size_t size), device,            \
    value("size"), output("ptr"))                                                                \
  X(runtime, mem_free, mem_free, void, (int32_t device, void* ptr), device, value("ptr"))        \
  X(runtime, mem_copy, mem_copy, void,                                                           \
    (void* dst, int32_t dst_device, const void* src, int32_t src_device, std::size_t size,       \
     outback_stream stream),                                                                     \
    value("dst"), side("dst_device"), value("src"), side("src_device"), value("size"),           \
    or_null("stream"))                                                                           \
  X(runtime, mem_fill, mem_fill, void,                                                           \
    (int32_t device, void* ptr, std::size_t size, const void* pattern, std::size_t pattern_size, \
     outback_stream stream),                                                                     \
    device, value("ptr"), value("size"), needed("pattern"), value("pattern_size"),               \
    or_null("stream"))

#define OUTBACK_SLOTS_OF_streams(X)                                                             \
  X(streams, create, stream_create, outback_stream, (int32_t device, int32_t priority), device, \
    value("priority"), makes("stream"))                                                         \
  X(streams, destroy, stream_destroy, void, (int32_t device, outback_stream stream), device,    \
    ends("stream"))                                                                             \
  X(streams, query, stream_query, bool, (int32_t device, outback_stream stream), device,        \
    or_null("stream"))                                                                          \
  X(streams, sync, stream_sync, void, (int32_t device, outback_stream stream), device,          \
    or_null("stream"))                                                                          \
  X(streams, priorities, stream_priorities, outback::priority_range, (int32_t device), device,  \
    output("least"), output("greatest"))

#define OUTBACK_SLOTS_OF_events(X)                                                                \
  X(events, create, event_create, outback_event, (int32_t device, uint32_t flags), device,        \
    value("flags"), makes("event"))                                                               \
  X(events, destroy, event_destroy, void, (int32_t device, outback_event event), device,          \
    ends("event"))                                                                                \
  X(events, record, event_record, void,                                                           \
    (int32_t device, outback_event event, outback_stream stream), device, handle("event"),        \
    or_null("stream"))                                                                            \
  X(events, wait, event_wait, void, (int32_t device, outback_event event, outback_stream stream), \
    device, of_any("event"), or_null("stream"))                                                   \
  X(events, query, event_query, bool, (int32_t device, outback_event event), device,              \
    handle("event"))                                                                              \
  X(events, sync, event_sync, void, (int32_t device, outback_event event), device,                \
    handle("event"))                                                                              \
  X(events, elapsed, event_elapsed, std::optional<int64_t>,                                       \
    (outback_event from, outback_event to), of_any("from"), of_any("to"), output("ns"))

#define OUTBACK_SLOTS_OF_host_memory(X)                                                      \
  X(host_memory, alloc, host_alloc, void*, (std::size_t size), value("size"), output("ptr")) \
  X(host_memory, free, host_free, void, (void* ptr), value("ptr"))                           \
  X(host_memory, info, host_info, outback_pointer_info, (const void* ptr), value("ptr"),     \
    output("info"))

#define OUTBACK_SLOTS_OF_device_state(X)                                                         \
  X(device_state, select, device_select, void, (int32_t device), device)                         \
  X(device_state, is_active, device_is_active, bool, (int32_t device), device, output("active")) \
  X(device_state, memory_usage, memory_usage, outback::memory_amount, (int32_t device), device,  \
    output("free"), output("total"))

#define OUTBACK_SLOTS_OF_host_registration(X)                                                  \
  X(host_registration, add, host_register, void, (void* ptr, std::size_t size), needed("ptr"), \
    value("size"))                                                                             \
  X(host_registration, remove, host_unregister, void, (void* ptr), needed("ptr"))

#define OUTBACK_SLOTS_OF_peer(X)                                                           \
  X(peer, can_access, peer_can_access, bool, (int32_t device, int32_t peer), device, peer, \
    output("can"))                                                                         \
  X(peer, enable, peer_enable, void, (int32_t device, int32_t peer), device, peer)         \
  X(peer, disable, peer_disable, void, (int32_t device, int32_t peer), device, peer)

#define OUTBACK_SLOTS_OF_native(X)                                                           \
  X(native, device, native_device, void*, (int32_t device), device, output("handle"))        \
  X(native, context, native_context, void*, (int32_t device), device, output("handle"))      \
  X(native, stream, native_stream, void*, (int32_t device, outback_stream stream), device,   \
    or_null("stream"), output("handle"))                                                     \
  X(native, event, native_event, void*, (int32_t device, outback_event event), device,       \
    handle("event"), output("handle"))                                                       \
  X(native, wrap_stream, native_wrap_stream, outback_stream, (int32_t device, void* handle), \
    device, value("handle"), makes("stream"))

#define OUTBACK_SLOTS_OF_callbacks(X)                                                       \
  X(callbacks, enqueue, callback_enqueue, void,                                             \
    (int32_t device, outback_callback callback, void* data, outback_stream stream), device, \
    needed("callback"), value("data"), or_null("stream"))

#define OUTBACK_SLOTS_OF_ipc(X)                                                                    \
  X(ipc, get_memory, ipc_get_memory, outback_ipc_handle, (int32_t device, void* ptr), device,      \
    needed("ptr"), output("handle"))                                                               \
  X(ipc, open_memory, ipc_open_memory, void*, (int32_t device, const outback_ipc_handle& handle),  \
    device, needed("handle"), output("ptr"))                                                       \
  X(ipc, close_memory, ipc_close_memory, void, (int32_t device, void* ptr), device, needed("ptr")) \
  X(ipc, get_event, ipc_get_event, outback_ipc_handle, (int32_t device, outback_event event),      \
    device, handle("event"), output("handle"))                                                     \
  X(ipc, open_event, ipc_open_event, outback_event,                                                \
    (int32_t device, const outback_ipc_handle& handle), device, needed("handle"), makes("event"))

#define OUTBACK_SLOTS_OF_graphs(X)                                                               \
  X(graphs, begin, graph_begin, void, (int32_t device, outback_stream stream), device,           \
    or_null("stream"))                                                                           \
  X(graphs, status, graph_status, outback_capture, (int32_t device, outback_stream stream),      \
    device, or_null("stream"), output("capture"))                                                \
  X(graphs, end, graph_end, outback_graph, (int32_t device, outback_stream stream), device,      \
    or_null("stream"), makes("graph"))                                                           \
  X(graphs, instantiate, graph_instantiate, void, (int32_t device, outback_graph graph), device, \
    handle("graph"))                                                                             \
  X(graphs, launch, graph_launch, void,                                                          \
    (int32_t device, outback_graph graph, outback_stream stream), device, handle("graph"),       \
    or_null("stream"))                                                                           \
  X(graphs, destroy, graph_destroy, void, (int32_t device, outback_graph graph), device,         \
    ends("graph"))

#define OUTBACK_SLOTS_OF_telemetry(X)                                                          \
  X(telemetry, read, telemetry_read, int64_t, (int32_t device, outback_metric metric), device, \
    value("metric"), output("value"))                                                          \
  X(telemetry, processes, telemetry_processes, std::vector<outback_process>, (int32_t device), \
    device, output("processes"))

#define OUTBACK_SLOTS_OF_activity(X)                                                              \
  X(activity, start, activity_start, void, (int32_t device), device)                              \
  X(activity, stop, activity_stop, void, (int32_t device), device)                                \
  X(activity, flush, activity_flush, void, (int32_t device), device)                              \
  X(activity, read, activity_read, outback_records, (int32_t device), device, output("records"))  \
  X(activity, clock, activity_clock, int64_t, (int32_t device), device, output("ns"))             \
  X(activity, stream, activity_stream, uint64_t, (int32_t device, outback_stream stream), device, \
    or_null("stream"), output("number"))                                                          \
  X(activity, push, activity_push, void, (uint64_t correlation), value("correlation"))            \
  X(activity, pop, activity_pop, uint64_t, (), output("correlation"))

#define OUTBACK_SLOTS_OF_ranges(X)                                      \
  X(ranges, push, range_push, void, (const char* name), needed("name")) \
  X(ranges, pop, range_pop, void, ())                                   \
  X(ranges, mark, range_mark, void, (const char* name), needed("name"))

#define OUTBACK_SLOTS_OF_kernels(X)                                                               \
  X(kernels, formats, kernel_formats, outback_formats, (int32_t device), device,                  \
    output("formats"))                                                                            \
  X(kernels, module_load, module_load, outback_module,                                            \
    (int32_t device, outback_format format, const void* bytes, std::size_t size), device,         \
    value("format"), needed("bytes"), value("size"), makes("module"))                             \
  X(kernels, module_unload, module_unload, void, (int32_t device, outback_module module), device, \
    ends("module"))                                                                               \
  X(kernels, kernel, kernel_of, outback_kernel,                                                   \
    (int32_t device, outback_module module, const char* name), device, handle("module"),          \
    needed("name"), lends("kernel"))                                                              \
  X(kernels, info, kernel_info, outback_kernel_info, (int32_t device, outback_kernel kernel),     \
    device, handle("kernel"), output("info"))                                                     \
  X(kernels, launch, kernel_launch, void,                                                         \
    (int32_t device, outback_kernel kernel, const outback_launch& launch, outback_stream stream), \
    device, handle("kernel"), needed("launch"), or_null("stream"))

// X(group, introduced, needs, since): every group, in the order of outback/runtime.h.
//
//   introduced  how many slots the group had when it was introduced. A table with this group has
//               all of these. Each later slot was appended and may be absent.
//   needs       the group that a table with this group must have too, or "runtime" for no such
//               group. `events` implies `streams`, which `events` needs.
//   since       the OUTBACK_ABI_MINOR that introduced the group
#define OUTBACK_GROUPS(X)                 \
  X(streams, 5, runtime, 0)               \
  X(events, 7, streams, 0)                \
  X(host_memory, 3, runtime, 0)           \
  X(device_state, 3, runtime, 0)          \
  X(host_registration, 2, host_memory, 0) \
  X(peer, 3, runtime, 0)                  \
  X(native, 5, events, 0)                 \
  X(callbacks, 1, streams, 0)             \
  X(ipc, 5, events, 0)                    \
  X(graphs, 6, events, 0)                 \
  X(telemetry, 2, runtime, 0)             \
  X(activity, 8, runtime, 1)              \
  X(ranges, 3, runtime, 2)                \
  X(kernels, 6, runtime, 3)
