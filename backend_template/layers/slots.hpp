// Every slot of the contract that answers a status: the one list that all layers are made from.
//
// A slot that is appended to outback/runtime.h is one line here, and so is a group. Without its
// line nothing compiles that includes this: the layout of each struct is compared with the list.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "outback/runtime.h"

namespace outback::layers {

/// What an argument of a slot is, as far as all slots agree about it.
enum class role : uint8_t {
  value,    // nothing that can be checked without knowing the slot
  device,   // an index from 0 to count - 1
  side,     // the same, or OUTBACK_HOST
  output,   // written on success only; may not be null
  makes,    // an output that becomes a handle of the device, and is not null
  handle,   // made by this table, of the device that the call names
  or_null,  // the same; null is the default one
  of_any,   // made by this table, of whichever device
  ends,     // a handle, gone after the call
};

struct argument {
  const char* name;
  role is;
};

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

/// What a handle is called. A new type of handle needs its line here.
template <class Handle>
inline constexpr const char* handle_name = nullptr;
template <>
inline constexpr const char* handle_name<outback_stream> = "stream";
template <>
inline constexpr const char* handle_name<outback_event> = "event";
template <>
inline constexpr const char* handle_name<outback_graph> = "graph";

// ---- The list: in the order of the header. X(group)
#define OUTBACK_LAYER_GROUPS(X) \
  X(streams)                    \
  X(events)                     \
  X(host_memory)                \
  X(device_state) X(host_registration) X(peer) X(native) X(callbacks) X(ipc) X(graphs) X(telemetry)

// X(group, member, name, kind, arguments...). The name is that of the member in
// outback/runtime.hpp; `query` may answer OUTBACK_NOT_READY, `action` may not.
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

/// Where the table points to a group.
template <class Group>
inline constexpr std::nullptr_t group_member = nullptr;
#define OUTBACK_X(group) \
  template <>            \
  inline constexpr auto group_member<outback_##group> = &outback_runtime::group;
OUTBACK_LAYER_GROUPS(OUTBACK_X)
#undef OUTBACK_X

/// The name that a slot has in messages: mem_alloc, streams.create.
#define OUTBACK_RUNTIME_NAME(group, member) \
  (std::is_same_v<outback_##group, outback_runtime> ? #member : #group "." #member)

enum class slot_kind : uint8_t { action, query };

/// A type for each slot, which says all about it.
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

struct place {
  std::string_view group;
  std::size_t offset;
};
inline constexpr place places[] = {
#define OUTBACK_X(group, member, ...) {#group, offsetof(outback_##group, member)},
    OUTBACK_LAYER_SLOTS(OUTBACK_X)
#undef OUTBACK_X
};

/// The slots of `group` lie one after another from `begin`, and end at the answer; 0 if one is
/// missing between them or out of place.
consteval std::size_t end_of_slots(std::string_view group, std::size_t begin) {
  for (const place& each : places) {
    if (each.group != group) continue;
    begin = each.offset == begin ? begin + sizeof(void (*)()) : 0;
  }
  return begin;
}

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
