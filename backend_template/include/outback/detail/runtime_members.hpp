// Finds out which members of outback/runtime.hpp a runtime class has, and which groups they make. A
// runtime author reads outback/runtime.hpp instead: it lists the members.
//
// For each member x there are two concepts. `has_x` says that the member can be called as the table
// will call it. `names_x` says that the class has a member of that name, callable or not. The
// second one makes a mistyped signature count as "half a group", which does not compile, rather
// than as "no group", which would silently switch the group off.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <vector>

#include "outback/runtime.h"

namespace outback {

/// What `stream_priorities` returns. A lower number is more urgent, 0 is the default.
struct priority_range {
  int32_t least;     // the least urgent one: 0 or more
  int32_t greatest;  // the most urgent one: 0 or less
};

/// What `memory_usage` returns: the memory of a whole device in bytes, other processes included.
struct memory_amount {
  std::size_t free;
  std::size_t total;
};

namespace detail {

// Whether a member that returns T can serve where Want is wanted. Usually T may be anything that
// converts to Want. But a bool must be a bool exactly: a member that returns a driver's status
// code, in which 0 means success, would otherwise convert to the opposite of "done". Where Want is
// void the result does not matter.
template <class T, class Want>
concept gives = std::is_void_v<Want> || (std::same_as<Want, bool> && std::same_as<T, bool>) ||
                (!std::same_as<Want, bool> && std::convertible_to<T, Want>);

// ---- The list of all members, by group, in the order of outback/runtime.h. Everything below is
// made from it.

// X(group, name, result, (arguments), signature). The arguments are the letters that the `requires`
// clause of OUTBACK_MEMBER declares: i is a device or another int32_t, n a size, p and q pointers,
// u flags, s a stream, e an event, g a graph, f a callback, h an IPC handle. The signature is what
// messages say. The members of "required" are in no group.
#define OUTBACK_MEMBERS_OF_required(X)                                                   \
  X(required, device_count, int32_t, (), "int32_t device_count()")                       \
  X(required, device_info, outback_device_info, (i),                                     \
    "outback_device_info device_info(int32_t device)")                                   \
  X(required, device_sync, void, (i), "void device_sync(int32_t device)")                \
  X(required, mem_alloc, void*, (i, n), "void* mem_alloc(int32_t device, size_t size)")  \
  X(required, mem_free, void, (i, p), "void mem_free(int32_t device, void* ptr)")        \
  X(required, mem_copy, void, (p, i, q, i, n, s),                                        \
    "void mem_copy(void* dst, int32_t dst_device, const void* src, int32_t src_device, " \
    "size_t size, outback_stream stream)")                                               \
  X(required, mem_fill, void, (i, p, n, q, n, s),                                        \
    "void mem_fill(int32_t device, void* ptr, size_t size, const void* pattern, size_t " \
    "pattern_size, outback_stream stream)")

#define OUTBACK_MEMBERS_OF_streams(X)                                                              \
  X(streams, stream_create, outback_stream, (i, i),                                                \
    "outback_stream stream_create(int32_t device, int32_t priority)")                              \
  X(streams, stream_destroy, void, (i, s),                                                         \
    "void stream_destroy(int32_t device, outback_stream stream)")                                  \
  X(streams, stream_query, bool, (i, s),                                                           \
    "bool stream_query(int32_t device, outback_stream stream)")                                    \
  X(streams, stream_sync, void, (i, s), "void stream_sync(int32_t device, outback_stream stream)") \
  X(streams, stream_priorities, priority_range, (i),                                               \
    "outback::priority_range stream_priorities(int32_t device)")

#define OUTBACK_MEMBERS_OF_events(X)                                                            \
  X(events, event_create, outback_event, (i, u),                                                \
    "outback_event event_create(int32_t device, uint32_t flags)")                               \
  X(events, event_destroy, void, (i, e),                                                        \
    "void event_destroy(int32_t device, outback_event event)")                                  \
  X(events, event_record, void, (i, e, s),                                                      \
    "void event_record(int32_t device, outback_event event, outback_stream stream)")            \
  X(events, event_wait, void, (i, e, s),                                                        \
    "void event_wait(int32_t device, outback_event event, outback_stream stream)")              \
  X(events, event_query, bool, (i, e), "bool event_query(int32_t device, outback_event event)") \
  X(events, event_sync, void, (i, e), "void event_sync(int32_t device, outback_event event)")   \
  X(events, event_elapsed, std::optional<int64_t>, (e, e),                                      \
    "std::optional<int64_t> event_elapsed(outback_event from, outback_event to)")

#define OUTBACK_MEMBERS_OF_host_memory(X)                                 \
  X(host_memory, host_alloc, void*, (n), "void* host_alloc(size_t size)") \
  X(host_memory, host_free, void, (p), "void host_free(void* ptr)")       \
  X(host_memory, host_info, outback_pointer_info, (q),                    \
    "outback_pointer_info host_info(const void* ptr)")

#define OUTBACK_MEMBERS_OF_device_state(X)                                              \
  X(device_state, device_select, void, (i), "void device_select(int32_t device)")       \
  X(device_state, device_is_active, bool, (i), "bool device_is_active(int32_t device)") \
  X(device_state, memory_usage, memory_amount, (i),                                     \
    "outback::memory_amount memory_usage(int32_t device)")

#define OUTBACK_MEMBERS_OF_host_registration(X)                                                   \
  X(host_registration, host_register, void, (p, n), "void host_register(void* ptr, size_t size)") \
  X(host_registration, host_unregister, void, (p), "void host_unregister(void* ptr)")

#define OUTBACK_MEMBERS_OF_peer(X)                                                             \
  X(peer, peer_can_access, bool, (i, i), "bool peer_can_access(int32_t device, int32_t peer)") \
  X(peer, peer_enable, void, (i, i), "void peer_enable(int32_t device, int32_t peer)")         \
  X(peer, peer_disable, void, (i, i), "void peer_disable(int32_t device, int32_t peer)")

#define OUTBACK_MEMBERS_OF_native(X)                                            \
  X(native, native_device, void*, (i), "void* native_device(int32_t device)")   \
  X(native, native_context, void*, (i), "void* native_context(int32_t device)") \
  X(native, native_stream, void*, (i, s),                                       \
    "void* native_stream(int32_t device, outback_stream stream)")               \
  X(native, native_event, void*, (i, e),                                        \
    "void* native_event(int32_t device, outback_event event)")                  \
  X(native, native_wrap_stream, outback_stream, (i, p),                         \
    "outback_stream native_wrap_stream(int32_t device, void* handle)")

#define OUTBACK_MEMBERS_OF_callbacks(X)                                             \
  X(callbacks, callback_enqueue, void, (i, f, p, s),                                \
    "void callback_enqueue(int32_t device, outback_callback callback, void* data, " \
    "outback_stream stream)")

#define OUTBACK_MEMBERS_OF_ipc(X)                                                            \
  X(ipc, ipc_get_memory, outback_ipc_handle, (i, p),                                         \
    "outback_ipc_handle ipc_get_memory(int32_t device, void* ptr)")                          \
  X(ipc, ipc_open_memory, void*, (i, h),                                                     \
    "void* ipc_open_memory(int32_t device, const outback_ipc_handle& handle)")               \
  X(ipc, ipc_close_memory, void, (i, p), "void ipc_close_memory(int32_t device, void* ptr)") \
  X(ipc, ipc_get_event, outback_ipc_handle, (i, e),                                          \
    "outback_ipc_handle ipc_get_event(int32_t device, outback_event event)")                 \
  X(ipc, ipc_open_event, outback_event, (i, h),                                              \
    "outback_event ipc_open_event(int32_t device, const outback_ipc_handle& handle)")

#define OUTBACK_MEMBERS_OF_graphs(X)                                                              \
  X(graphs, graph_begin, void, (i, s), "void graph_begin(int32_t device, outback_stream stream)") \
  X(graphs, graph_status, outback_capture, (i, s),                                                \
    "outback_capture graph_status(int32_t device, outback_stream stream)")                        \
  X(graphs, graph_end, outback_graph, (i, s),                                                     \
    "outback_graph graph_end(int32_t device, outback_stream stream)")                             \
  X(graphs, graph_instantiate, void, (i, g),                                                      \
    "void graph_instantiate(int32_t device, outback_graph graph)")                                \
  X(graphs, graph_launch, void, (i, g, s),                                                        \
    "void graph_launch(int32_t device, outback_graph graph, outback_stream stream)")              \
  X(graphs, graph_destroy, void, (i, g), "void graph_destroy(int32_t device, outback_graph graph)")

#define OUTBACK_MEMBERS_OF_telemetry(X)                                \
  X(telemetry, telemetry_read, int64_t, (i, i),                        \
    "int64_t telemetry_read(int32_t device, outback_metric metric)")   \
  X(telemetry, telemetry_processes, std::vector<outback_process>, (i), \
    "std::vector<outback_process> telemetry_processes(int32_t device)")

// X(group): every group, in the order of outback/runtime.h.
#define OUTBACK_GROUPS(X) \
  X(streams)              \
  X(events)               \
  X(host_memory)          \
  X(device_state) X(host_registration) X(peer) X(native) X(callbacks) X(ipc) X(graphs) X(telemetry)

// X(group, other): `group` needs `other`. `events` stands for `streams` too, which it needs.
#define OUTBACK_GROUP_NEEDS(X)      \
  X(events, streams)                \
  X(host_registration, host_memory) \
  X(native, events)                 \
  X(callbacks, streams)             \
  X(ipc, events)                    \
  X(graphs, events)

// ---- The list is whole: each slot of a group has its member, and each group is there.

#define OUTBACK_PLUS_ONE(...) +1
#define OUTBACK_X(group)                                                                   \
  static_assert((0 OUTBACK_MEMBERS_OF_##group(OUTBACK_PLUS_ONE)) ==                        \
                    (sizeof(outback_##group) - 2 * sizeof(uint32_t)) / sizeof(void (*)()), \
                "a slot of the group " #group " is not in its OUTBACK_MEMBERS_OF list");
OUTBACK_GROUPS(OUTBACK_X)
#undef OUTBACK_X
static_assert((0 OUTBACK_MEMBERS_OF_required(OUTBACK_PLUS_ONE)) ==
                  (offsetof(outback_runtime, streams) - offsetof(outback_runtime, device_count)) /
                      sizeof(void (*)()),
              "a required slot is not in OUTBACK_MEMBERS_OF_required");
static_assert((0 OUTBACK_GROUPS(OUTBACK_PLUS_ONE)) ==
                  (sizeof(outback_runtime) - offsetof(outback_runtime, streams)) / sizeof(void*),
              "a group of outback/runtime.h is not in OUTBACK_GROUPS");
#undef OUTBACK_PLUS_ONE

// ---- The concepts

// has_<name> and names_<name> of each member. `&R::name` is ill-formed for an overloaded member,
// which is why names_ asks has_ first.
#define OUTBACK_MEMBER(group, name, result, arguments, signature)                               \
  template <class R>                                                                            \
  concept has_##name = requires(R& r, int32_t i, std::size_t n, void* p, const void* q,         \
                                uint32_t u, outback_stream s, outback_event e, outback_graph g, \
                                outback_callback f, const outback_ipc_handle& h) {              \
    { r.name arguments } -> gives<result>;                                                      \
  };                                                                                            \
  template <class R>                                                                            \
  concept names_##name = has_##name<R> || requires { &R::name; };
#define OUTBACK_X(group) OUTBACK_MEMBERS_OF_##group(OUTBACK_MEMBER)
OUTBACK_X(required)
OUTBACK_GROUPS(OUTBACK_X)
#undef OUTBACK_X
#undef OUTBACK_MEMBER

// For each group, names_<group>: the class has some member of the group, perhaps with a wrong
// signature. And has_<group>: the class has all of them, and the table gets the group.
#define OUTBACK_AND_HAS(group, name, ...) &&has_##name<R>
#define OUTBACK_OR_NAMES(group, name, ...) || names_##name<R>
#define OUTBACK_X(group)                                                  \
  template <class R>                                                      \
  concept has_##group = true OUTBACK_MEMBERS_OF_##group(OUTBACK_AND_HAS); \
  template <class R>                                                      \
  concept names_##group = false OUTBACK_MEMBERS_OF_##group(OUTBACK_OR_NAMES);
OUTBACK_GROUPS(OUTBACK_X)
#undef OUTBACK_X
#undef OUTBACK_OR_NAMES

/// The class has all members that every runtime needs.
template <class R>
concept has_required = true OUTBACK_MEMBERS_OF_required(OUTBACK_AND_HAS);
#undef OUTBACK_AND_HAS

#define OUTBACK_AND_WHOLE(group) &&(has_##group<R> || !names_##group<R>)
#define OUTBACK_AND_NEEDS(group, other) &&(has_##other<R> || !names_##group<R>)
/// Each group is whole or absent, and the groups that it needs are there.
template <class R>
concept has_whole_groups =
    true OUTBACK_GROUPS(OUTBACK_AND_WHOLE) OUTBACK_GROUP_NEEDS(OUTBACK_AND_NEEDS);
#undef OUTBACK_AND_WHOLE
#undef OUTBACK_AND_NEEDS

/// Does not compile for a class that lacks a member: one message for each missing member, with its
/// signature. `table_of` asserts this rather than `device_runtime`, because compilers explain a
/// concept that fails in many lines.
template <class R>
consteval bool explain_members() {
  // Each condition is a variable with the member's name, so that GCC points to the member's line in
  // the list above.
#define OUTBACK_REQUIRED(group, name, result, arguments, signature) \
  static_assert(has_##name<R>, "outback: a runtime class needs the member: " signature);
  OUTBACK_MEMBERS_OF_required(OUTBACK_REQUIRED);
#undef OUTBACK_REQUIRED

#define OUTBACK_OF_GROUP(group, name, result, arguments, signature)                   \
  constexpr bool name##_is_there = !names_##group<R> || has_##name<R>;                \
  static_assert(name##_is_there, "outback: the class has a part of the group " #group \
                                 ", but not the member: " signature);
#define OUTBACK_X(group) OUTBACK_MEMBERS_OF_##group(OUTBACK_OF_GROUP)
  OUTBACK_GROUPS(OUTBACK_X);
#undef OUTBACK_X
#undef OUTBACK_OF_GROUP

#define OUTBACK_X(group, other)                                                \
  constexpr bool group##_need_##other = !names_##group<R> || names_##other<R>; \
  static_assert(group##_need_##other, "outback: the group " #group " needs the group " #other);
  OUTBACK_GROUP_NEEDS(OUTBACK_X);
#undef OUTBACK_X
  return true;
}

#undef OUTBACK_GROUPS
#undef OUTBACK_GROUP_NEEDS
#undef OUTBACK_MEMBERS_OF_required
#undef OUTBACK_MEMBERS_OF_streams
#undef OUTBACK_MEMBERS_OF_events
#undef OUTBACK_MEMBERS_OF_host_memory
#undef OUTBACK_MEMBERS_OF_device_state
#undef OUTBACK_MEMBERS_OF_host_registration
#undef OUTBACK_MEMBERS_OF_peer
#undef OUTBACK_MEMBERS_OF_native
#undef OUTBACK_MEMBERS_OF_callbacks
#undef OUTBACK_MEMBERS_OF_ipc
#undef OUTBACK_MEMBERS_OF_graphs
#undef OUTBACK_MEMBERS_OF_telemetry

}  // namespace detail
}  // namespace outback
