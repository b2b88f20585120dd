// Which slots a runtime class has. Read outback/runtime.hpp instead: it lists the members.
//
// For each member there are two concepts. `has_x`: it can be called as the table will call it.
// `names_x`: the class has a member of that name, callable or not, so that a mistyped signature
// counts as "half a group" rather than as "no group".
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "outback/runtime.h"

namespace outback {

/// Stream priorities: lower is more urgent, 0 is the default, least >= 0 >= greatest.
struct priority_range {
  int32_t least;
  int32_t greatest;
};

/// Memory of a whole device, in bytes, other processes included.
struct memory_amount {
  std::size_t free;
  std::size_t total;
};

namespace detail {

// bool exactly: a driver's status code, in which 0 means success, must not pass for "done".
template <class T, class Want>
concept gives = std::is_void_v<Want> || (std::same_as<Want, bool> && std::same_as<T, bool>) ||
                (!std::same_as<Want, bool> && std::convertible_to<T, Want>);

#define OUTBACK_MEMBER(result, name, ...)                                               \
  template <class R>                                                                    \
  concept has_##name = requires(R& r, int32_t i, std::size_t n, void* p, const void* q, \
                                uint32_t u, outback_stream s, outback_event e) {        \
    { r.name(__VA_ARGS__) } -> gives<result>;                                           \
  };                                                                                    \
  template <class R>                                                                    \
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
#undef OUTBACK_MEMBER

template <class R>
concept has_required = has_device_count<R> && has_device_info<R> && has_device_sync<R> &&
                       has_mem_alloc<R> && has_mem_free<R> && has_mem_copy<R> && has_mem_fill<R>;

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

/// Each group is whole or absent, and events come with streams.
template <class R>
concept has_whole_groups =
    (has_streams<R> || !names_streams<R>) && (has_events<R> || !names_events<R>) &&
    (has_host_memory<R> || !names_host_memory<R>) &&
    (has_device_state<R> || !names_device_state<R>) && (has_streams<R> || !names_events<R>);

/// Does not compile for a class that is no runtime; each message names one missing member.
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
  static_assert(!names_events<R> || names_streams<R>,
                "outback: the group events needs the group streams");

  OUTBACK_OF_GROUP(host_memory, host_alloc, "void* host_alloc(size_t size)");
  OUTBACK_OF_GROUP(host_memory, host_free, "void host_free(void* ptr)");
  OUTBACK_OF_GROUP(host_memory, host_info, "outback_pointer_info host_info(const void* ptr)");

  OUTBACK_OF_GROUP(device_state, device_select, "void device_select(int32_t device)");
  OUTBACK_OF_GROUP(device_state, device_is_active, "bool device_is_active(int32_t device)");
  OUTBACK_OF_GROUP(device_state, memory_usage,
                   "outback::memory_amount memory_usage(int32_t device)");
#undef OUTBACK_OF_GROUP
  return true;
}

}  // namespace detail
}  // namespace outback
