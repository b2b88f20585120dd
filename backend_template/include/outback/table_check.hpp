// Reads a table that somebody else compiled, perhaps with an older or newer outback/runtime.h:
// `table_problem` says whether it can be used, and `complete_table` copies it so that every member
// of this header's version is there. Read it if you call tables that you did not make. No torch.
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

/// Where a slot lies in its struct, and what messages call it.
struct slot {
  const char* name;
  std::size_t offset;  // in bytes
};

#define OUTBACK_SLOT(type, name) \
  slot {                         \
    #name, offsetof(type, name)  \
  }
/// The slots that every table must have.
inline constexpr slot required_slots[] = {
    OUTBACK_SLOT(outback_runtime, last_error),  OUTBACK_SLOT(outback_runtime, device_count),
    OUTBACK_SLOT(outback_runtime, device_info), OUTBACK_SLOT(outback_runtime, device_sync),
    OUTBACK_SLOT(outback_runtime, mem_alloc),   OUTBACK_SLOT(outback_runtime, mem_free),
    OUTBACK_SLOT(outback_runtime, mem_copy),    OUTBACK_SLOT(outback_runtime, mem_fill)};
// For each group, the slots that it had when the group was introduced: a table must have all of
// them or none. Slots that are appended to a group later must not be added here, since older tables
// do not have them.
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

/// Returns the name of the first of `slots` that is missing in `object`, null if none is. A slot is
/// missing if it is null or lies beyond `struct_size`, the size that `object` says it has.
template <std::size_t N>
const char* missing_slot(const void* object, uint32_t struct_size, const slot (&slots)[N]) {
  for (const slot& s : slots) {
    // Read by memcpy: the slots have many types, and all function pointers have one size.
    void (*function)() = nullptr;
    if (s.offset + sizeof(function) <= struct_size) {
      std::memcpy(&function, static_cast<const char*>(object) + s.offset, sizeof(function));
    }
    if (function == nullptr) return s.name;
  }
  return nullptr;
}

/// Returns the pointer to a group, which lies `offset` bytes into the table; null if the table is
/// older than the group and ends before it.
template <class Group>
const Group* group_at(const outback_runtime& table, std::size_t offset) {
  const Group* group = nullptr;
  if (offset + sizeof(group) <= table.struct_size) {
    std::memcpy(&group, reinterpret_cast<const char*>(&table) + offset, sizeof(group));
  }
  return group;
}

/// Says what is wrong with a group: a missing slot, or a `reserved` that is not 0. "" if the group
/// is right or absent. `name` is the group's name in the message. In a table that `is_newer` than
/// this header, `reserved` may have a meaning.
template <class Group, std::size_t N>
std::string group_problem(const Group* group, const char* name, const slot (&slots)[N],
                          bool is_newer) {
  if (group == nullptr) return {};
  if (const char* missing = missing_slot(group, group->struct_size, slots)) {
    return "the runtime's group " + std::string(name) + " has no " + missing + " (struct_size " +
           std::to_string(group->struct_size) + "): a group is whole, or its pointer is null";
  }
  if (group->reserved == 0 || is_newer) return {};
  return "the runtime's group " + std::string(name) + " has reserved " +
         std::to_string(group->reserved) + ": it must be 0";
}

// X(group): every group, in the order of outback/runtime.h.
#define OUTBACK_GROUPS(X) \
  X(streams)              \
  X(events)               \
  X(host_memory)          \
  X(device_state) X(host_registration) X(peer) X(native) X(callbacks) X(ipc) X(graphs) X(telemetry)

// streams_of(table), events_of(table), ...: the group of a table, or null.
#define OUTBACK_X(group)                                                   \
  inline const outback_##group* group##_of(const outback_runtime& t) {     \
    return group_at<outback_##group>(t, offsetof(outback_runtime, group)); \
  }
OUTBACK_GROUPS(OUTBACK_X)
#undef OUTBACK_X

/// Says what is wrong with the first group that is not right; "" if all groups are right or absent.
inline std::string groups_problem(const outback_runtime& t) {
  const bool is_newer = t.abi_minor > OUTBACK_ABI_MINOR;
  std::string problem;
#define OUTBACK_X(group) \
  if (problem.empty()) problem = group_problem(group##_of(t), #group, group##_slots, is_newer);
  OUTBACK_GROUPS(OUTBACK_X)
#undef OUTBACK_X
  return problem;
}

/// Says which group the first group needs that lacks one; "" if every group has what it needs. The
/// comments of outback_runtime are the rule. `events` stands for `streams` too, which it needs.
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

/// Returns "" if `table` can be used. Otherwise returns one sentence that says why not and names
/// the remedy or the missing slot. A null `table` is a problem too. If one of Outback's own
/// runtimes could not read a variable of the environment, the sentence is about that variable.
///
/// Calls no slot, and reads no struct beyond its own `struct_size`. A table of a newer or older
/// minor version is no problem: groups that it does not know count as absent. Thread-safe; throws
/// std::bad_alloc only.
inline std::string table_problem(const outback_runtime* table) {
  if (table == nullptr) return "the runtime's table is null";
  if (std::string why = detail::refusal_of_table(table); !why.empty()) return why;
  // Smaller than any version ever was: nobody has set it, most likely.
  if (table->struct_size < offsetof(outback_runtime, self)) {
    return "the runtime's table says struct_size " + std::to_string(table->struct_size) +
           ": it must be sizeof(outback_runtime) where the runtime was compiled";
  }
  // Before the slots are looked at: with another major number their places may differ.
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

/// A copy of a table, in the size that this header knows, whichever version the table was compiled
/// for. Members that the table does not have are null. So a reader of the copy asks only whether a
/// member is null, and never how large a struct is.
///
/// The groups are copied too. After the constructor nothing of the given table is used except its
/// `self` and its functions, which must stay valid as long as slots of the copy are called.
class complete_table {
 public:
  /// `table_problem(&table)` must be empty. Calls no slot.
  explicit complete_table(const outback_runtime& table) : table_(whole(&table)) {
#define OUTBACK_X(group)                       \
  group##_ = whole(detail::group##_of(table)); \
  if (table_.group != nullptr) table_.group = &group##_;
    OUTBACK_GROUPS(OUTBACK_X)
#undef OUTBACK_X
  }
  // Not copied and not moved: the copied table points to the groups in this object.
  complete_table(const complete_table&) = delete;
  complete_table& operator=(const complete_table&) = delete;

  /// The copied table, which is valid as long as this object.
  const outback_runtime& runtime() const noexcept { return table_; }

 private:
  // Copies as much as both sides know. The rest stays zero, which means absent.
  template <class T>
  static T whole(const T* given) {
    T copy = {};
    if (given == nullptr) return copy;
    std::memcpy(&copy, given, std::min<std::size_t>(given->struct_size, sizeof(T)));
    copy.struct_size = sizeof(T);
    return copy;
  }

  // The table, then a copy of each group: streams_, events_, ... A group that the table does not
  // have is copied as zeros, and table_ has a null pointer for it.
  outback_runtime table_;
#define OUTBACK_X(group) outback_##group group##_;
  OUTBACK_GROUPS(OUTBACK_X)
#undef OUTBACK_X
};

}  // namespace outback
#undef OUTBACK_GROUPS
