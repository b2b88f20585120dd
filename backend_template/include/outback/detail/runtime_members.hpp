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

// Defines has_<name> and names_<name>. The arguments are the letters that the `requires` clause
// declares: i is a device or another int32_t, n a size, p and q pointers, u flags, s a stream, e an
// event, g a graph, f a callback, h an IPC handle. `&R::name` is ill-formed for an overloaded
// member, which is why names_ asks has_ first.
#define OUTBACK_MEMBER(result, name, ...)                                                       \
  template <class R>                                                                            \
  concept has_##name = requires(R& r, int32_t i, std::size_t n, void* p, const void* q,         \
                                uint32_t u, outback_stream s, outback_event e, outback_graph g, \
                                outback_callback f, const outback_ipc_handle& h) {              \
    { r.name(__VA_ARGS__) } -> gives<result>;                                                   \
  };                                                                                            \
  template <class R>                                                                            \
  concept names_##name = has_##name<R> || requires { &R::name; };

OUTBACK_MEMBER(int32_t, device_count)
OUTBACK_MEMBER(outback_device_info, device_info, i)
OUTBACK_MEMBER(void, device_sync, i)
OUTBACK_MEMBER(void*, mem_alloc, i, n)
OUTBACK_MEMBER(void, mem_free, i, p)
OUTBACK_MEMBER(void, mem_copy, p, i, q, i, n, s)
OUTBACK_MEMBER(void, mem_fill, i, p, n, q, n, s)

OUTBACK_MEMBER(outback_stream, stream_create, i, i)
OUTBACK_MEMBER(void, stream_destroy, i, s)
OUTBACK_MEMBER(bool, stream_query, i, s)
OUTBACK_MEMBER(void, stream_sync, i, s)
OUTBACK_MEMBER(priority_range, stream_priorities, i)

OUTBACK_MEMBER(outback_event, event_create, i, u)
OUTBACK_MEMBER(void, event_destroy, i, e)
OUTBACK_MEMBER(void, event_record, i, e, s)
OUTBACK_MEMBER(void, event_wait, i, e, s)
OUTBACK_MEMBER(bool, event_query, i, e)
OUTBACK_MEMBER(void, event_sync, i, e)
OUTBACK_MEMBER(std::optional<int64_t>, event_elapsed, e, e)

OUTBACK_MEMBER(void*, host_alloc, n)
OUTBACK_MEMBER(void, host_free, p)
OUTBACK_MEMBER(outback_pointer_info, host_info, q)

OUTBACK_MEMBER(void, device_select, i)
OUTBACK_MEMBER(bool, device_is_active, i)
OUTBACK_MEMBER(memory_amount, memory_usage, i)

OUTBACK_MEMBER(void, host_register, p, n)
OUTBACK_MEMBER(void, host_unregister, p)

OUTBACK_MEMBER(bool, peer_can_access, i, i)
OUTBACK_MEMBER(void, peer_enable, i, i)
OUTBACK_MEMBER(void, peer_disable, i, i)

OUTBACK_MEMBER(void*, native_device, i)
OUTBACK_MEMBER(void*, native_context, i)
OUTBACK_MEMBER(void*, native_stream, i, s)
OUTBACK_MEMBER(void*, native_event, i, e)
OUTBACK_MEMBER(outback_stream, native_wrap_stream, i, p)

OUTBACK_MEMBER(void, callback_enqueue, i, f, p, s)

OUTBACK_MEMBER(outback_ipc_handle, ipc_get_memory, i, p)
OUTBACK_MEMBER(void*, ipc_open_memory, i, h)
OUTBACK_MEMBER(void, ipc_close_memory, i, p)
OUTBACK_MEMBER(outback_ipc_handle, ipc_get_event, i, e)
OUTBACK_MEMBER(outback_event, ipc_open_event, i, h)

OUTBACK_MEMBER(void, graph_begin, i, s)
OUTBACK_MEMBER(outback_capture, graph_status, i, s)
OUTBACK_MEMBER(outback_graph, graph_end, i, s)
OUTBACK_MEMBER(void, graph_instantiate, i, g)
OUTBACK_MEMBER(void, graph_launch, i, g, s)
OUTBACK_MEMBER(void, graph_destroy, i, g)

OUTBACK_MEMBER(int64_t, telemetry_read, i, i)
OUTBACK_MEMBER(std::vector<outback_process>, telemetry_processes, i)
#undef OUTBACK_MEMBER

/// The class has all members that every runtime needs.
template <class R>
concept has_required = has_device_count<R> && has_device_info<R> && has_device_sync<R> &&
                       has_mem_alloc<R> && has_mem_free<R> && has_mem_copy<R> && has_mem_fill<R>;

// For each group, names_<group>: the class has some member of the group, perhaps with a wrong
// signature. And has_<group>: the class has all of them, and the table gets the group.

template <class R>
concept names_streams = names_stream_create<R> || names_stream_destroy<R> ||
                        names_stream_query<R> || names_stream_sync<R> || names_stream_priorities<R>;
template <class R>
concept has_streams = has_stream_create<R> && has_stream_destroy<R> && has_stream_query<R> &&
                      has_stream_sync<R> && has_stream_priorities<R>;

template <class R>
concept names_events =
    names_event_create<R> || names_event_destroy<R> || names_event_record<R> ||
    names_event_wait<R> || names_event_query<R> || names_event_sync<R> || names_event_elapsed<R>;
template <class R>
concept has_events =
    has_event_create<R> && has_event_destroy<R> && has_event_record<R> && has_event_wait<R> &&
    has_event_query<R> && has_event_sync<R> && has_event_elapsed<R>;

template <class R>
concept names_host_memory = names_host_alloc<R> || names_host_free<R> || names_host_info<R>;
template <class R>
concept has_host_memory = has_host_alloc<R> && has_host_free<R> && has_host_info<R>;

template <class R>
concept names_device_state =
    names_device_select<R> || names_device_is_active<R> || names_memory_usage<R>;
template <class R>
concept has_device_state = has_device_select<R> && has_device_is_active<R> && has_memory_usage<R>;

template <class R>
concept names_host_registration = names_host_register<R> || names_host_unregister<R>;
template <class R>
concept has_host_registration = has_host_register<R> && has_host_unregister<R>;

template <class R>
concept names_peer = names_peer_can_access<R> || names_peer_enable<R> || names_peer_disable<R>;
template <class R>
concept has_peer = has_peer_can_access<R> && has_peer_enable<R> && has_peer_disable<R>;

template <class R>
concept names_native =
    names_native_device<R> || names_native_context<R> || names_native_stream<R> ||
    names_native_event<R> || names_native_wrap_stream<R>;
template <class R>
concept has_native = has_native_device<R> && has_native_context<R> && has_native_stream<R> &&
                     has_native_event<R> && has_native_wrap_stream<R>;

template <class R>
concept names_callbacks = names_callback_enqueue<R>;
template <class R>
concept has_callbacks = has_callback_enqueue<R>;

template <class R>
concept names_ipc = names_ipc_get_memory<R> || names_ipc_open_memory<R> ||
                    names_ipc_close_memory<R> || names_ipc_get_event<R> || names_ipc_open_event<R>;
template <class R>
concept has_ipc = has_ipc_get_memory<R> && has_ipc_open_memory<R> && has_ipc_close_memory<R> &&
                  has_ipc_get_event<R> && has_ipc_open_event<R>;

template <class R>
concept names_graphs =
    names_graph_begin<R> || names_graph_status<R> || names_graph_end<R> ||
    names_graph_instantiate<R> || names_graph_launch<R> || names_graph_destroy<R>;
template <class R>
concept has_graphs = has_graph_begin<R> && has_graph_status<R> && has_graph_end<R> &&
                     has_graph_instantiate<R> && has_graph_launch<R> && has_graph_destroy<R>;

template <class R>
concept names_telemetry = names_telemetry_read<R> || names_telemetry_processes<R>;
template <class R>
concept has_telemetry = has_telemetry_read<R> && has_telemetry_processes<R>;

/// Each group is whole or absent, and the groups that it needs are there.
template <class R>
concept has_whole_groups =
    (has_streams<R> || !names_streams<R>) && (has_events<R> || !names_events<R>) &&
    (has_host_memory<R> || !names_host_memory<R>) &&
    (has_device_state<R> || !names_device_state<R>) &&
    (has_host_registration<R> || !names_host_registration<R>) && (has_peer<R> || !names_peer<R>) &&
    (has_native<R> || !names_native<R>) && (has_callbacks<R> || !names_callbacks<R>) &&
    (has_ipc<R> || !names_ipc<R>) && (has_graphs<R> || !names_graphs<R>) &&
    (has_telemetry<R> || !names_telemetry<R>) && (has_streams<R> || !names_events<R>) &&
    (has_host_memory<R> || !names_host_registration<R>) && (has_events<R> || !names_native<R>) &&
    (has_streams<R> || !names_callbacks<R>) && (has_events<R> || !names_ipc<R>) &&
    (has_events<R> || !names_graphs<R>);

/// Does not compile for a class that lacks a member: one message for each missing member, with its
/// signature. `table_of` asserts this rather than `device_runtime`, because compilers explain a
/// concept that fails in many lines.
template <class R>
consteval bool explain_members() {
#define OUTBACK_REQUIRED(name, signature) \
  static_assert(has_##name<R>, "outback: a runtime class needs the member: " signature)
  OUTBACK_REQUIRED(device_count, "int32_t device_count()");
  OUTBACK_REQUIRED(device_info, "outback_device_info device_info(int32_t device)");
  OUTBACK_REQUIRED(device_sync, "void device_sync(int32_t device)");
  OUTBACK_REQUIRED(mem_alloc, "void* mem_alloc(int32_t device, size_t size)");
  OUTBACK_REQUIRED(mem_free, "void mem_free(int32_t device, void* ptr)");
  OUTBACK_REQUIRED(mem_copy,
                   "void mem_copy(void* dst, int32_t dst_device, const void* src, "
                   "int32_t src_device, size_t size, outback_stream stream)");
  OUTBACK_REQUIRED(mem_fill,
                   "void mem_fill(int32_t device, void* ptr, size_t size, const void* pattern, "
                   "size_t pattern_size, outback_stream stream)");
#undef OUTBACK_REQUIRED

#define OUTBACK_OF_GROUP(group, name, signature)                     \
  static_assert(!names_##group<R> || has_##name<R>,                  \
                "outback: the class has a part of the group " #group \
                ", but not the member: " signature)
#define OUTBACK_GROUP_NEEDS(group, other)              \
  static_assert(!names_##group<R> || names_##other<R>, \
                "outback: the group " #group " needs the group " #other)
  OUTBACK_OF_GROUP(streams, stream_create,
                   "outback_stream stream_create(int32_t device, int32_t priority)");
  OUTBACK_OF_GROUP(streams, stream_destroy,
                   "void stream_destroy(int32_t device, outback_stream stream)");
  OUTBACK_OF_GROUP(streams, stream_query,
                   "bool stream_query(int32_t device, outback_stream stream)");
  OUTBACK_OF_GROUP(streams, stream_sync, "void stream_sync(int32_t device, outback_stream stream)");
  OUTBACK_OF_GROUP(streams, stream_priorities,
                   "outback::priority_range stream_priorities(int32_t device)");

  OUTBACK_OF_GROUP(events, event_create,
                   "outback_event event_create(int32_t device, uint32_t flags)");
  OUTBACK_OF_GROUP(events, event_destroy,
                   "void event_destroy(int32_t device, outback_event event)");
  OUTBACK_OF_GROUP(events, event_record,
                   "void event_record(int32_t device, outback_event event, outback_stream stream)");
  OUTBACK_OF_GROUP(events, event_wait,
                   "void event_wait(int32_t device, outback_event event, outback_stream stream)");
  OUTBACK_OF_GROUP(events, event_query, "bool event_query(int32_t device, outback_event event)");
  OUTBACK_OF_GROUP(events, event_sync, "void event_sync(int32_t device, outback_event event)");
  OUTBACK_OF_GROUP(events, event_elapsed,
                   "std::optional<int64_t> event_elapsed(outback_event from, outback_event to)");
  OUTBACK_GROUP_NEEDS(events, streams);

  OUTBACK_OF_GROUP(host_memory, host_alloc, "void* host_alloc(size_t size)");
  OUTBACK_OF_GROUP(host_memory, host_free, "void host_free(void* ptr)");
  OUTBACK_OF_GROUP(host_memory, host_info, "outback_pointer_info host_info(const void* ptr)");

  OUTBACK_OF_GROUP(device_state, device_select, "void device_select(int32_t device)");
  OUTBACK_OF_GROUP(device_state, device_is_active, "bool device_is_active(int32_t device)");
  OUTBACK_OF_GROUP(device_state, memory_usage,
                   "outback::memory_amount memory_usage(int32_t device)");

  OUTBACK_OF_GROUP(host_registration, host_register, "void host_register(void* ptr, size_t size)");
  OUTBACK_OF_GROUP(host_registration, host_unregister, "void host_unregister(void* ptr)");

  OUTBACK_OF_GROUP(peer, peer_can_access, "bool peer_can_access(int32_t device, int32_t peer)");
  OUTBACK_OF_GROUP(peer, peer_enable, "void peer_enable(int32_t device, int32_t peer)");
  OUTBACK_OF_GROUP(peer, peer_disable, "void peer_disable(int32_t device, int32_t peer)");

  OUTBACK_OF_GROUP(native, native_device, "void* native_device(int32_t device)");
  OUTBACK_OF_GROUP(native, native_stream,
                   "void* native_stream(int32_t device, outback_stream stream)");
  OUTBACK_OF_GROUP(native, native_event, "void* native_event(int32_t device, outback_event event)");
  OUTBACK_OF_GROUP(native, native_wrap_stream,
                   "outback_stream native_wrap_stream(int32_t device, void* handle)");

  OUTBACK_OF_GROUP(callbacks, callback_enqueue,
                   "void callback_enqueue(int32_t device, outback_callback callback, void* data, "
                   "outback_stream stream)");

  OUTBACK_OF_GROUP(ipc, ipc_get_memory,
                   "outback_ipc_handle ipc_get_memory(int32_t device, void* ptr)");
  OUTBACK_OF_GROUP(ipc, ipc_open_memory,
                   "void* ipc_open_memory(int32_t device, const outback_ipc_handle& handle)");
  OUTBACK_OF_GROUP(ipc, ipc_close_memory, "void ipc_close_memory(int32_t device, void* ptr)");
  OUTBACK_OF_GROUP(ipc, ipc_get_event,
                   "outback_ipc_handle ipc_get_event(int32_t device, outback_event event)");
  OUTBACK_OF_GROUP(
      ipc, ipc_open_event,
      "outback_event ipc_open_event(int32_t device, const outback_ipc_handle& handle)");

  OUTBACK_OF_GROUP(graphs, graph_begin, "void graph_begin(int32_t device, outback_stream stream)");
  OUTBACK_OF_GROUP(graphs, graph_status,
                   "outback_capture graph_status(int32_t device, outback_stream stream)");
  OUTBACK_OF_GROUP(graphs, graph_end,
                   "outback_graph graph_end(int32_t device, outback_stream stream)");
  OUTBACK_OF_GROUP(graphs, graph_instantiate,
                   "void graph_instantiate(int32_t device, outback_graph graph)");
  OUTBACK_OF_GROUP(graphs, graph_launch,
                   "void graph_launch(int32_t device, outback_graph graph, outback_stream stream)");
  OUTBACK_OF_GROUP(graphs, graph_destroy,
                   "void graph_destroy(int32_t device, outback_graph graph)");

  OUTBACK_OF_GROUP(telemetry, telemetry_read,
                   "int64_t telemetry_read(int32_t device, outback_metric metric)");
  OUTBACK_OF_GROUP(telemetry, telemetry_processes,
                   "std::vector<outback_process> telemetry_processes(int32_t device)");

  OUTBACK_GROUP_NEEDS(host_registration, host_memory);
  OUTBACK_GROUP_NEEDS(native, events);
  OUTBACK_GROUP_NEEDS(callbacks, streams);
  OUTBACK_GROUP_NEEDS(ipc, events);
  OUTBACK_GROUP_NEEDS(graphs, events);
#undef OUTBACK_GROUP_NEEDS
#undef OUTBACK_OF_GROUP
  return true;
}

}  // namespace detail
}  // namespace outback
