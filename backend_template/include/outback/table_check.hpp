// Reading a table that somebody else compiled: is it one that can be used, and a whole copy of it.
// No torch.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "outback/runtime.h"

namespace outback {
namespace detail {

/// A slot by the name and place that it has in its struct.
struct slot {
  const char* name;
  std::size_t offset;
};

#define OUTBACK_SLOT(type, name) \
  slot {                         \
    #name, offsetof(type, name)  \
  }
inline constexpr slot required_slots[] = {
    OUTBACK_SLOT(outback_runtime, last_error),  OUTBACK_SLOT(outback_runtime, device_count),
    OUTBACK_SLOT(outback_runtime, device_info), OUTBACK_SLOT(outback_runtime, device_sync),
    OUTBACK_SLOT(outback_runtime, mem_alloc),   OUTBACK_SLOT(outback_runtime, mem_free),
    OUTBACK_SLOT(outback_runtime, mem_copy),    OUTBACK_SLOT(outback_runtime, mem_fill)};
// What a group had when it was introduced. What is appended later is absent from older tables, and
// stays out.
inline constexpr slot stream_slots[] = {
    OUTBACK_SLOT(outback_streams, create), OUTBACK_SLOT(outback_streams, destroy),
    OUTBACK_SLOT(outback_streams, query), OUTBACK_SLOT(outback_streams, sync),
    OUTBACK_SLOT(outback_streams, priorities)};
inline constexpr slot event_slots[] = {
    OUTBACK_SLOT(outback_events, create), OUTBACK_SLOT(outback_events, destroy),
    OUTBACK_SLOT(outback_events, record), OUTBACK_SLOT(outback_events, wait),
    OUTBACK_SLOT(outback_events, query),  OUTBACK_SLOT(outback_events, sync),
    OUTBACK_SLOT(outback_events, elapsed)};
inline constexpr slot host_memory_slots[] = {OUTBACK_SLOT(outback_host_memory, alloc),
                                             OUTBACK_SLOT(outback_host_memory, free),
                                             OUTBACK_SLOT(outback_host_memory, info)};
inline constexpr slot device_state_slots[] = {OUTBACK_SLOT(outback_device_state, select),
                                              OUTBACK_SLOT(outback_device_state, is_active),
                                              OUTBACK_SLOT(outback_device_state, memory_usage)};
#undef OUTBACK_SLOT

/// The name of the first of `slots` that `object` has not got: null, or beyond its `struct_size`.
/// Null if none.
template <std::size_t N>
const char* missing_slot(const void* object, uint32_t struct_size, const slot (&slots)[N]) {
  for (const slot& s : slots) {
    void (*function)() = nullptr;
    if (s.offset + sizeof(function) <= struct_size) {
      std::memcpy(&function, static_cast<const char*>(object) + s.offset, sizeof(function));
    }
    if (function == nullptr) return s.name;
  }
  return nullptr;
}

/// The group pointer at `offset`, or null where the table is older than the group.
template <class Group>
const Group* group_at(const outback_runtime& table, std::size_t offset) {
  const Group* group = nullptr;
  if (offset + sizeof(group) <= table.struct_size) {
    std::memcpy(&group, reinterpret_cast<const char*>(&table) + offset, sizeof(group));
  }
  return group;
}

template <class Group, std::size_t N>
std::string group_problem(const Group* group, const char* name, const slot (&slots)[N]) {
  if (group == nullptr) return {};
  const char* missing = missing_slot(group, group->struct_size, slots);
  if (missing == nullptr) return {};
  return "the runtime's group " + std::string(name) + " has no " + missing + " (struct_size " +
         std::to_string(group->struct_size) + "): a group is whole, or its pointer is null";
}

inline const outback_streams* streams_of(const outback_runtime& t) {
  return group_at<outback_streams>(t, offsetof(outback_runtime, streams));
}
inline const outback_events* events_of(const outback_runtime& t) {
  return group_at<outback_events>(t, offsetof(outback_runtime, events));
}
inline const outback_host_memory* host_memory_of(const outback_runtime& t) {
  return group_at<outback_host_memory>(t, offsetof(outback_runtime, host_memory));
}
inline const outback_device_state* device_state_of(const outback_runtime& t) {
  return group_at<outback_device_state>(t, offsetof(outback_runtime, device_state));
}

}  // namespace detail

/// Why `table` cannot be used, in one sentence that names the remedy or the missing slot; "" if it
/// can.
///
/// Calls no slot and reads nothing beyond a struct's own `struct_size`. A newer minor version is no
/// problem, neither is an older one: groups that it did not know count as absent.
inline std::string table_problem(const outback_runtime* table) {
  if (table == nullptr) return "the runtime's table is null";
  if (table->struct_size < offsetof(outback_runtime, self)) {
    return "the runtime's table says struct_size " + std::to_string(table->struct_size) +
           ": it must be sizeof(outback_runtime) where the runtime was compiled";
  }
  if (table->abi_major != OUTBACK_ABI_MAJOR) {
    return "the runtime was compiled for version " + std::to_string(table->abi_major) + "." +
           std::to_string(table->abi_minor) + " of outback/runtime.h, and this is version " +
           std::to_string(OUTBACK_ABI_MAJOR) + "." + std::to_string(OUTBACK_ABI_MINOR) +
           ": compile the runtime with this header, or use an Outback of the runtime's version";
  }
  if (const char* missing =
          detail::missing_slot(table, table->struct_size, detail::required_slots)) {
    return "the runtime's table has no " + std::string(missing) +
           ", which is required (struct_size " + std::to_string(table->struct_size) + ")";
  }
  const outback_streams* streams = detail::streams_of(*table);
  const outback_events* events = detail::events_of(*table);
  std::string problem = detail::group_problem(streams, "streams", detail::stream_slots);
  if (problem.empty()) problem = detail::group_problem(events, "events", detail::event_slots);
  if (problem.empty()) {
    problem = detail::group_problem(detail::host_memory_of(*table), "host_memory",
                                    detail::host_memory_slots);
  }
  if (problem.empty()) {
    problem = detail::group_problem(detail::device_state_of(*table), "device_state",
                                    detail::device_state_slots);
  }
  if (problem.empty() && events != nullptr && streams == nullptr) {
    problem = "the runtime's table has the group events without the group streams, which it needs";
  }
  return problem;
}

/// A copy of a table that has the size this header knows, whichever version the table was compiled
/// for: what it has not got is null. So its reader asks "is it null?" and never "how big is it?".
///
/// Groups are copied too; nothing of the given table is used afterwards except `self` and the
/// functions.
class complete_table {
 public:
  /// `table_problem(&table)` must be empty.
  explicit complete_table(const outback_runtime& table)
      : table_(whole(&table)),
        streams_(whole(detail::streams_of(table))),
        events_(whole(detail::events_of(table))),
        host_memory_(whole(detail::host_memory_of(table))),
        device_state_(whole(detail::device_state_of(table))) {
    if (table_.streams != nullptr) table_.streams = &streams_;
    if (table_.events != nullptr) table_.events = &events_;
    if (table_.host_memory != nullptr) table_.host_memory = &host_memory_;
    if (table_.device_state != nullptr) table_.device_state = &device_state_;
  }
  // The table points into this object.
  complete_table(const complete_table&) = delete;
  complete_table& operator=(const complete_table&) = delete;

  /// Valid as long as this object.
  const outback_runtime& runtime() const noexcept { return table_; }

 private:
  template <class T>
  static T whole(const T* given) {
    T copy = {};
    if (given == nullptr) return copy;
    std::memcpy(&copy, given, std::min<std::size_t>(given->struct_size, sizeof(T)));
    copy.struct_size = sizeof(T);
    return copy;
  }

  outback_runtime table_;
  outback_streams streams_;
  outback_events events_;
  outback_host_memory host_memory_;
  outback_device_state device_state_;
};

}  // namespace outback
