// Reads a table that somebody else compiled, perhaps with an older or newer outback/runtime.h:
// `table_problem` says whether it can be used, and `complete_table` copies it so that every member
// of this header's version is there. Read it if you call tables that you did not make. No torch.
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

/// Returns a copy of a table or a group whose maker may have known less of it, or more: as much as
/// both sides know. The rest is zero, which means absent. All zero for null.
template <class T>
T whole(const T* given) {
  T copy = {};
  if (given == nullptr) return copy;
  const std::size_t size = std::min<std::size_t>(given->struct_size, sizeof(T));
  std::memcpy(&copy, given, size - size % sizeof(void*));  // half a pointer is none
  copy.struct_size = sizeof(T);
  return copy;
}

/// Returns the name of the first slot that `object` must have and has not, null if there is none.
/// `object` is whole. Slots that were appended to a group may be absent.
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

/// Says what is wrong with a group of `table`, which is whole: a missing slot, a `reserved` that is
/// not 0, or another group that it needs. "" if the group is right or absent. In a table that is
/// newer than this header, `reserved` may have a meaning.
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

/// A copy of a table, in the size that this header knows, whichever version the table was compiled
/// for. Members that the table does not have are null. So a reader of the copy asks only whether a
/// member is null, and never how large a struct is.
///
/// The groups are copied too. After the constructor nothing of the given table is used except its
/// `self` and its functions, which must stay valid as long as slots of the copy are called.
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
  // Not copied and not moved: the copied table points to the groups in this object.
  complete_table(const complete_table&) = delete;
  complete_table& operator=(const complete_table&) = delete;

  /// The copied table, which is valid as long as this object.
  const outback_runtime& runtime() const noexcept { return table_; }
  /// The same, for a table that is to differ from the one that was copied.
  outback_runtime& runtime() noexcept { return table_; }
  /// The function of a slot (of outback::slots) in the copy; null if the table does not have it.
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
  // A group that the table does not have is zero, and table_ has a null pointer for it.
  slots::group_structs groups_;
};

}  // namespace outback
