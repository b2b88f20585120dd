// The list of all slots of outback/runtime.h that return a status, with the role of each argument.
// All layers are made from it.
//
// When you append a slot or a group to outback/runtime.h, add one line here. Without that line
// nothing that includes this file compiles: static_asserts at the end compare the list with the
// layout of each struct.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "outback/runtime.h"

namespace outback::layers {

/// What an argument means, as far as that is the same for all slots. Validation checks an argument
/// by its role, and the layer that hides devices translates `device` and `side`.
enum class role : uint8_t {
  value,    // something else: only code that knows the slot can check it
  device,   // a device index from 0 to count - 1
  side,     // a device index or OUTBACK_HOST
  output,   // a pointer that is not null; the slot writes there, on success only
  makes,    // an output that gets a new handle of the device, which is not null
  handle,   // a handle of the device that the call names; not null
  or_null,  // the same, but null is allowed and means the default stream
  of_any,   // a handle of any device; not null
  ends,     // a handle of the device that the call names, which is gone after the call
};

/// An argument of a slot after `self`.
struct argument {
  const char* name;  // as in outback/runtime.h
  role is;
};

// Shorthands, so that the list below reads like the declarations in outback/runtime.h.

constexpr argument value(const char* name) {
  return {name, role::value};
}
constexpr argument side(const char* name) {
  return {name, role::side};
}
constexpr argument output(const char* name) {
  return {name, role::output};
}
constexpr argument makes(const char* name) {
  return {name, role::makes};
}
constexpr argument handle(const char* name) {
  return {name, role::handle};
}
constexpr argument or_null(const char* name) {
  return {name, role::or_null};
}
constexpr argument of_any(const char* name) {
  return {name, role::of_any};
}
constexpr argument ends(const char* name) {
  return {name, role::ends};
}
inline constexpr argument device{"device", role::device};
inline constexpr argument peer{"peer", role::device};

/// What messages call a type of handle; null for a type that is no handle. A new type of handle
/// needs its line here.
template <class Handle>
inline constexpr const char* handle_name = nullptr;
template <>
inline constexpr const char* handle_name<outback_stream> = "stream";
template <>
inline constexpr const char* handle_name<outback_event> = "event";
template <>
inline constexpr const char* handle_name<outback_graph> = "graph";

// ---- The list, in the order of outback/runtime.h.

// X(group)
#define OUTBACK_LAYER_GROUPS(X) \
  X(streams)                    \
  X(events)                     \
  X(host_memory)                \
  X(device_state) X(host_registration) X(peer) X(native) X(callbacks) X(ipc) X(graphs) X(telemetry)

// X(group, member, id, kind, arguments...). `id` is the name of the member in outback/runtime.hpp
// and of the type in namespace `slots`. A `query` may return OUTBACK_NOT_READY, an `action` may
// not. Required slots are in the group "runtime".
#define OUTBACK_LAYER_SLOTS(X)                                                                   \
  X(runtime, device_count, device_count, action, output("count"))                                \
  X(runtime, device_info, device_info, action, device, output("info"))                           \
  X(runtime, device_sync, device_sync, action, device)                                           \
  X(runtime, mem_alloc, mem_alloc, action, device, value("size"), output("ptr"))                 \
  X(runtime, mem_free, mem_free, action, device, value("ptr"))                                   \
  X(runtime, mem_copy, mem_copy, action, value("dst"), side("dst_device"), value("src"),         \
    side("src_device"), value("size"), or_null("stream"))                                        \
  X(runtime, mem_fill, mem_fill, action, device, value("ptr"), value("size"), value("pattern"),  \
    value("pattern_size"), or_null("stream"))                                                    \
  X(streams, create, stream_create, action, device, value("priority"), makes("stream"))          \
  X(streams, destroy, stream_destroy, action, device, ends("stream"))                            \
  X(streams, query, stream_query, query, device, or_null("stream"))                              \
  X(streams, sync, stream_sync, action, device, or_null("stream"))                               \
  X(streams, priorities, stream_priorities, action, device, output("least"), output("greatest")) \
  X(events, create, event_create, action, device, value("flags"), makes("event"))                \
  X(events, destroy, event_destroy, action, device, ends("event"))                               \
  X(events, record, event_record, action, device, handle("event"), or_null("stream"))            \
  X(events, wait, event_wait, action, device, of_any("event"), or_null("stream"))                \
  X(events, query, event_query, query, device, handle("event"))                                  \
  X(events, sync, event_sync, action, device, handle("event"))                                   \
  X(events, elapsed, event_elapsed, query, of_any("from"), of_any("to"), output("ns"))           \
  X(host_memory, alloc, host_alloc, action, value("size"), output("ptr"))                        \
  X(host_memory, free, host_free, action, value("ptr"))                                          \
  X(host_memory, info, host_info, action, value("ptr"), output("info"))                          \
  X(device_state, select, device_select, action, device)                                         \
  X(device_state, is_active, device_is_active, action, device, output("active"))                 \
  X(device_state, memory_usage, memory_usage, action, device, output("free"), output("total"))   \
  X(host_registration, add, host_register, action, value("ptr"), value("size"))                  \
  X(host_registration, remove, host_unregister, action, value("ptr"))                            \
  X(peer, can_access, peer_can_access, action, device, peer, output("can"))                      \
  X(peer, enable, peer_enable, action, device, peer)                                             \
  X(peer, disable, peer_disable, action, device, peer)                                           \
  X(native, device, native_device, action, device, output("handle"))                             \
  X(native, context, native_context, action, device, output("handle"))                           \
  X(native, stream, native_stream, action, device, or_null("stream"), output("handle"))          \
  X(native, event, native_event, action, device, handle("event"), output("handle"))              \
  X(native, wrap_stream, native_wrap_stream, action, device, value("handle"), makes("stream"))   \
  X(callbacks, enqueue, callback_enqueue, action, device, value("callback"), value("data"),      \
    or_null("stream"))                                                                           \
  X(ipc, get_memory, ipc_get_memory, action, device, value("ptr"), output("handle"))             \
  X(ipc, open_memory, ipc_open_memory, action, device, value("handle"), output("ptr"))           \
  X(ipc, close_memory, ipc_close_memory, action, device, value("ptr"))                           \
  X(ipc, get_event, ipc_get_event, action, device, handle("event"), output("handle"))            \
  X(ipc, open_event, ipc_open_event, action, device, value("handle"), makes("event"))            \
  X(graphs, begin, graph_begin, action, device, or_null("stream"))                               \
  X(graphs, status, graph_status, action, device, or_null("stream"), output("capture"))          \
  X(graphs, end, graph_end, action, device, or_null("stream"), makes("graph"))                   \
  X(graphs, instantiate, graph_instantiate, action, device, handle("graph"))                     \
  X(graphs, launch, graph_launch, action, device, handle("graph"), or_null("stream"))            \
  X(graphs, destroy, graph_destroy, action, device, ends("graph"))                               \
  X(telemetry, read, telemetry_read, action, device, value("metric"), output("value"))           \
  X(telemetry, processes, telemetry_processes, action, device, output("processes"))

/// The member of outback_runtime that points to a group: group_member<outback_streams> is
/// &outback_runtime::streams.
template <class Group>
inline constexpr std::nullptr_t group_member = nullptr;
#define OUTBACK_X(group) \
  template <>            \
  inline constexpr auto group_member<outback_##group> = &outback_runtime::group;
OUTBACK_LAYER_GROUPS(OUTBACK_X)
#undef OUTBACK_X

// The name of a slot in messages: mem_alloc, streams.create.
#define OUTBACK_RUNTIME_NAME(group, member) \
  (std::is_same_v<outback_##group, outback_runtime> ? #member : #group "." #member)

enum class slot_kind : uint8_t { action, query };

/// One type for each slot, which carries everything that the list says of it. Layers overload their
/// functions on these types.
namespace slots {
#define OUTBACK_X(group, member, id, asks, ...)                                   \
  struct id {                                                                     \
    using owner = outback_##group;                                                \
    static constexpr auto pointer = &outback_##group::member;                     \
    static constexpr const char* name = OUTBACK_RUNTIME_NAME(group, member);      \
    static constexpr const char* other_name = #id;                                \
    static constexpr bool may_be_not_ready = slot_kind::asks == slot_kind::query; \
    static constexpr argument arguments[] = {__VA_ARGS__};                        \
  };
OUTBACK_LAYER_SLOTS(OUTBACK_X)
#undef OUTBACK_X
#undef OUTBACK_RUNTIME_NAME
}  // namespace slots

/// Calls `visit(slots::x())` for every slot, in the order of the list.
template <class Visit>
constexpr void for_each_slot(Visit&& visit) {
#define OUTBACK_X(group, member, id, ...) visit(slots::id{});
  OUTBACK_LAYER_SLOTS(OUTBACK_X)
#undef OUTBACK_X
}

namespace detail {

/// Where each slot of the list lies in its struct.
struct place {
  std::string_view group;
  std::size_t offset;
};
inline constexpr place places[] = {
#define OUTBACK_X(group, member, ...) {#group, offsetof(outback_##group, member)},
    OUTBACK_LAYER_SLOTS(OUTBACK_X)
#undef OUTBACK_X
};

/// Returns the offset behind the last slot of `group` in the list, if its slots lie directly one
/// after another from the offset `begin`. Returns another number if a slot is missing between them
/// or out of order: each slot that is not where the one before it ends sets the offset back to 0.
consteval std::size_t end_of_slots(std::string_view group, std::size_t begin) {
  for (const place& each : places) {
    if (each.group != group) continue;
    begin = each.offset == begin ? begin + sizeof(void (*)()) : 0;
  }
  return begin;
}

/// The same for the pointers to the groups in outback_runtime.
consteval std::size_t end_of_groups() {
  std::size_t at = offsetof(outback_runtime, streams);
#define OUTBACK_X(group) at = offsetof(outback_runtime, group) == at ? at + sizeof(void*) : 0;
  OUTBACK_LAYER_GROUPS(OUTBACK_X)
#undef OUTBACK_X
  return at;
}

static_assert(end_of_slots("runtime", offsetof(outback_runtime, device_count)) ==
                  offsetof(outback_runtime, streams),
              "a required slot of outback/runtime.h is not in OUTBACK_LAYER_SLOTS");
static_assert(end_of_groups() == sizeof(outback_runtime),
              "a group of outback/runtime.h is not in OUTBACK_LAYER_GROUPS");
#define OUTBACK_X(group)                                                               \
  static_assert(end_of_slots(#group, 2 * sizeof(uint32_t)) == sizeof(outback_##group), \
                "a slot of the group " #group " is not in OUTBACK_LAYER_SLOTS");
OUTBACK_LAYER_GROUPS(OUTBACK_X)
#undef OUTBACK_X

}  // namespace detail
}  // namespace outback::layers
