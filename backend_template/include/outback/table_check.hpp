// Reads a table that somebody else compiled, perhaps with an older or newer outback/runtime.h:
// `table_problem` says whether the table can be used, and `complete_table` makes a copy that has
// every member of this header's version. Read this if you call tables that you did not make. No
// torch.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <tuple>
#include <type_traits>

#include "outback/detail/refused_table.hpp"
#include "outback/detail/slots.hpp"
#include "outback/runtime.h"

namespace outback {
namespace detail {

/// Returns a copy of a table or a group that may come from an older or newer version. Copies the
/// members that both versions have; the other members are zero, which means absent. If `given` is
/// null, all members are zero.
template <class T>
T whole(const T* given) {
  T copy = {};
  if (given == nullptr) return copy;
  const std::size_t size = std::min<std::size_t>(given->struct_size, sizeof(T));
  std::memcpy(&copy, given, size - size % sizeof(void*));  // drops a partial pointer
  copy.struct_size = sizeof(T);
  return copy;
}

/// Returns the name of the first required slot that `object` lacks, null if it lacks none. `object`
/// must come from `whole`. Slots that were appended to a group may be absent.
template <class Owner>
const char* missing_slot(const Owner& object) {
  const char* missing = nullptr;
  const auto look = [&]<class Slot>(Slot) {
    const bool may_be = slots::is_appended<Slot> || object.*Slot::pointer != nullptr;
    if (missing == nullptr && !may_be) missing = Slot::name_in_group;
  };
  slots::group<Owner>::all::apply([&](auto... slot) { (look(slot), ...); });
  return missing;
}

/// Returns a sentence if a group of `table` lacks a slot, has a `reserved` that is not 0, or lacks
/// another group that it needs. Returns "" if the group is right or absent. `table` must come from
/// `whole`. In a table that is newer than this header, `reserved` may have a meaning.
template <class Group>
std::string group_problem(Group, const outback_runtime& table) {
  const auto* const group = table.*Group::pointer;
  if (group == nullptr) return {};
  const std::string what = std::string("the runtime's group ") + Group::name;
  if (const char* missing = missing_slot(whole(group))) {
    return what + " has no " + missing + " (struct_size " + std::to_string(group->struct_size) +
           "): a group is whole, or its pointer is null";
  }
  if (group->reserved != 0 && table.abi_minor <= OUTBACK_ABI_MINOR) {
    return what + " has reserved " + std::to_string(group->reserved) + ": it must be 0";
  }
  if constexpr (!std::is_same_v<typename Group::needs, outback_runtime>) {
    using needed = slots::group<typename Group::needs>;
    if (table.*needed::pointer == nullptr) {
      return std::string("the runtime's table has the group ") + Group::name +
             " without the group " + needed::name + ", which it needs";
    }
  }
  return {};
}

}  // namespace detail

/// Returns "" if `table` can be used. Otherwise returns one sentence that states the reason and
/// names the remedy or the missing slot. A null `table` is a problem too. If one of Outback's own
/// runtimes could not read an environment variable, the sentence is about that variable.
///
/// Calls no slot, and reads no struct beyond its own `struct_size`. A table of a newer or older
/// minor version is no problem: groups that only one of the two versions has count as absent.
/// Thread-safe; throws only std::bad_alloc.
inline std::string table_problem(const outback_runtime* table) {
  if (table == nullptr) return "the runtime's table is null";
  if (std::string why = detail::refusal_of_table(table); !why.empty()) return why;
  // A struct_size smaller than in any version was most likely never set.
  if (table->struct_size < offsetof(outback_runtime, self)) {
    return "the runtime's table says struct_size " + std::to_string(table->struct_size) +
           ": it must be sizeof(outback_runtime) where the runtime was compiled";
  }
  // Check the major number before the slots: with another major number their places may differ.
  if (table->abi_major != OUTBACK_ABI_MAJOR) {
    return "the runtime was compiled for version " + std::to_string(table->abi_major) + "." +
           std::to_string(table->abi_minor) + " of outback/runtime.h, and this is version " +
           std::to_string(OUTBACK_ABI_MAJOR) + "." + std::to_string(OUTBACK_ABI_MINOR) +
           ": compile the runtime with this header, or use an Outback of the runtime's version";
  }
  const outback_runtime known = detail::whole(table);
  const char* missing = detail::missing_slot(known);
  if (known.last_error == nullptr) missing = "last_error";
  if (missing != nullptr) {
    return "the runtime's table has no " + std::string(missing) +
           ", which is required (struct_size " + std::to_string(table->struct_size) + ")";
  }
  std::string problem;
  slots::for_each_group([&](auto group) {
    if (problem.empty()) problem = detail::group_problem(group, known);
  });
  return problem;
}

/// A copy of a table, with all members of this header's version, whichever version the table was
/// compiled for. Members that the original table lacks are null. So a reader of the copy checks
/// only whether a member is null, and never the size of a struct.
///
/// The groups are copied too. After the constructor only the `self` and the functions of the given
/// table are used. They must stay valid as long as slots of the copy are called.
class complete_table {
 public:
  /// `table_problem(&table)` must be empty. Calls no slot.
  explicit complete_table(const outback_runtime& table) : table_(detail::whole(&table)) {
    slots::for_each_group([&]<class Group>(Group) {
      auto*& group = table_.*Group::pointer;
      auto& copy = std::get<typename Group::owner>(groups_);
      copy = detail::whole(group);
      if (group != nullptr) group = &copy;
    });
  }
  // Not copyable and not movable: the copied table points to the groups in this object.
  complete_table(const complete_table&) = delete;
  complete_table& operator=(const complete_table&) = delete;

  /// The copied table, which is valid as long as this object.
  const outback_runtime& runtime() const noexcept { return table_; }
  /// The same table, for a caller that changes it.
  outback_runtime& runtime() noexcept { return table_; }
  /// The function of a slot (a type in outback::slots) in the copy; null if the table lacks the
  /// slot.
  template <class Slot>
  auto& function() noexcept {
    if constexpr (Slot::is_required) {
      return table_.*Slot::pointer;
    } else {
      return std::get<typename Slot::owner>(groups_).*Slot::pointer;
    }
  }

 private:
  outback_runtime table_;
  // A group that the table lacks is zero here, and its pointer in table_ is null.
  slots::group_structs groups_;
};

}  // namespace outback
