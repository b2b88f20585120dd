// Reading a table that somebody else compiled: is it one that can be used, and a whole copy of it.
// No torch.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "outback/detail/refused_table.hpp"
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
inline constexpr slot streams_slots[] = {
    OUTBACK_SLOT(outback_streams, create), OUTBACK_SLOT(outback_streams, destroy),
    OUTBACK_SLOT(outback_streams, query), OUTBACK_SLOT(outback_streams, sync),
    OUTBACK_SLOT(outback_streams, priorities)};
inline constexpr slot events_slots[] = {
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
inline constexpr slot host_registration_slots[] = {OUTBACK_SLOT(outback_host_registration, add),
                                                   OUTBACK_SLOT(outback_host_registration, remove)};
inline constexpr slot peer_slots[] = {OUTBACK_SLOT(outback_peer, can_access),
                                      OUTBACK_SLOT(outback_peer, enable),
                                      OUTBACK_SLOT(outback_peer, disable)};
inline constexpr slot native_slots[] = {
    OUTBACK_SLOT(outback_native, device), OUTBACK_SLOT(outback_native, context),
    OUTBACK_SLOT(outback_native, stream), OUTBACK_SLOT(outback_native, event),
    OUTBACK_SLOT(outback_native, wrap_stream)};
inline constexpr slot callbacks_slots[] = {OUTBACK_SLOT(outback_callbacks, enqueue)};
inline constexpr slot ipc_slots[] = {
    OUTBACK_SLOT(outback_ipc, get_memory), OUTBACK_SLOT(outback_ipc, open_memory),
    OUTBACK_SLOT(outback_ipc, close_memory), OUTBACK_SLOT(outback_ipc, get_event),
    OUTBACK_SLOT(outback_ipc, open_event)};
inline constexpr slot graphs_slots[] = {
    OUTBACK_SLOT(outback_graphs, begin),  OUTBACK_SLOT(outback_graphs, status),
    OUTBACK_SLOT(outback_graphs, end),    OUTBACK_SLOT(outback_graphs, instantiate),
    OUTBACK_SLOT(outback_graphs, launch), OUTBACK_SLOT(outback_graphs, destroy)};
inline constexpr slot telemetry_slots[] = {OUTBACK_SLOT(outback_telemetry, read),
                                           OUTBACK_SLOT(outback_telemetry, processes)};
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

// X(group): every group, in the order of the header.
#define OUTBACK_GROUPS(X) \
  X(streams)              \
  X(events)               \
  X(host_memory)          \
  X(device_state) X(host_registration) X(peer) X(native) X(callbacks) X(ipc) X(graphs) X(telemetry)

#define OUTBACK_X(group)                                                   \
  inline const outback_##group* group##_of(const outback_runtime& t) {     \
    return group_at<outback_##group>(t, offsetof(outback_runtime, group)); \
  }
OUTBACK_GROUPS(OUTBACK_X)
#undef OUTBACK_X

/// The first group that is a part of itself only; "" if all are whole.
inline std::string groups_problem(const outback_runtime& t) {
  std::string problem;
#define OUTBACK_X(group) \
  if (problem.empty()) problem = group_problem(group##_of(t), #group, group##_slots);
  OUTBACK_GROUPS(OUTBACK_X)
#undef OUTBACK_X
  return problem;
}

/// The first group without another that it needs; "" if all have theirs.
inline std::string needs_problem(const outback_runtime& t) {
  std::string problem;
  const auto needs = [&](const void* group, const char* name, const void* other,
                         const char* other_name) {
    if (problem.empty() && group != nullptr && other == nullptr) {
      problem = "the runtime's table has the group " + std::string(name) + " without the group " +
                other_name + ", which it needs";
    }
  };
  needs(events_of(t), "events", streams_of(t), "streams");
  needs(host_registration_of(t), "host_registration", host_memory_of(t), "host_memory");
  needs(native_of(t), "native", events_of(t), "events");
  needs(callbacks_of(t), "callbacks", streams_of(t), "streams");
  needs(ipc_of(t), "ipc", events_of(t), "events");
  needs(graphs_of(t), "graphs", events_of(t), "events");
  return problem;
}

}  // namespace detail

/// Why `table` cannot be used, in one sentence that names the remedy or the missing slot; "" if it
/// can. Of one of Outback's runtimes that could not read its variables, the sentence about them.
///
/// Calls no slot and reads nothing beyond a struct's own `struct_size`. A newer minor version is no
/// problem, neither is an older one: groups that it did not know count as absent.
inline std::string table_problem(const outback_runtime* table) {
  if (table == nullptr) return "the runtime's table is null";
  if (std::string why = detail::refusal_of_table(table); !why.empty()) return why;
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
  const std::string problem = detail::groups_problem(*table);
  return problem.empty() ? detail::needs_problem(*table) : problem;
}

/// A copy of a table that has the size this header knows, whichever version the table was compiled
/// for: what it has not got is null. So its reader asks "is it null?" and never "how big is it?".
///
/// Groups are copied too; nothing of the given table is used afterwards except `self` and the
/// functions.
class complete_table {
 public:
  /// `table_problem(&table)` must be empty.
  explicit complete_table(const outback_runtime& table) : table_(whole(&table)) {
#define OUTBACK_X(group)                       \
  group##_ = whole(detail::group##_of(table)); \
  if (table_.group != nullptr) table_.group = &group##_;
    OUTBACK_GROUPS(OUTBACK_X)
#undef OUTBACK_X
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
#define OUTBACK_X(group) outback_##group group##_;
  OUTBACK_GROUPS(OUTBACK_X)
#undef OUTBACK_X
};

}  // namespace outback
#undef OUTBACK_GROUPS
