// Finds out which slots of the list a runtime class implements as members, and which groups these
// members make up.
#pragma once

#include <concepts>
#include <type_traits>

#include "outback/detail/slots.hpp"
#include "outback/runtime.h"

namespace outback::detail {

// Whether a member may return T if the list of slots declares the result Want. Usually T may be any
// type that converts to Want. But a bool must be a bool exactly: a member that returns a driver's
// status code, in which 0 means success, would otherwise convert to the opposite of "done". If Want
// is void the result does not matter.
template <class T, class Want>
concept gives = std::is_void_v<Want> || (std::same_as<Want, bool> && std::same_as<T, bool>) ||
                (!std::same_as<Want, bool> && std::convertible_to<T, Want>);

// Stands for an argument of type T in the test whether a member can be called. It converts to the
// types that T converts to, except integers that are too small for some values of T: a member with
// the parameter `int size` would otherwise be accepted, and would get a truncated size.
template <class T>
struct argument {
  template <class To>
    requires(std::convertible_to<T, To> && (!std::integral<To> || sizeof(To) >= sizeof(T)))
  operator To() const;
};
template <class T>
using tried = std::conditional_t<std::integral<T>, argument<T>, T>;

template <class R, class Slot, class Result, class... Parameters>
consteval bool can_call(Result (*)(Parameters...)) {
  return requires(R& object, tried<Parameters>... all) {
    { Slot::call(object, all...) } -> gives<Result>;
  };
}

/// True if the class has the slot's member and the table can call it.
template <class R, class Slot>
inline constexpr bool has_member = can_call<R, Slot>(static_cast<typename Slot::member*>(nullptr));

/// True if the class has a member of that name, callable or not. So a mistyped signature counts as
/// "half a group", which does not compile, rather than as "no group", which would silently switch
/// the group off.
template <class R, class Slot>
inline constexpr bool names_member = has_member<R, Slot> || Slot::template is_named<R>;

/// True if the class has some member of the group, perhaps with a wrong signature. Always true for
/// outback_runtime, whose slots are required.
template <class R, class Owner>
inline constexpr bool names_group = slots::group<Owner>::all::apply(
    []<class... Slot>(Slot...) { return (names_member<R, Slot> || ...); });
template <class R>
inline constexpr bool names_group<R, outback_runtime> = true;

/// True if the class has the member or may lack it. A class may lack a member if it has no member
/// of the group, or if the slot was appended to its group and the class has nothing of that name.
template <class R, class Slot>
inline constexpr bool is_whole_in = has_member<R, Slot> || !names_group<R, typename Slot::owner> ||
                                    (slots::is_appended<Slot> && !names_member<R, Slot>);

/// Returns true if the class has all required members, each group is whole or absent, and every
/// group that another group needs is present.
template <class R>
consteval bool is_runtime() {
  bool whole = true;
  slots::for_each_slot([&]<class Slot>(Slot) { whole = whole && is_whole_in<R, Slot>; });
  slots::for_each_group([&]<class Group>(Group) {
    whole =
        whole && (!names_group<R, typename Group::owner> || names_group<R, typename Group::needs>);
  });
  return whole;
}

/// Does not compile for a class that lacks a member: the compiler prints a message for each missing
/// member, with its signature. `table_of` asserts this rather than `device_runtime`, because
/// compilers take many lines to explain a failed concept.
template <class R>
consteval bool explain_members() {
  // The conditions name the slot, so that compilers point to its row in the list.
#define OUTBACK_X(group, slot, id, result, parameters, ...) \
  static_assert(is_whole_in<R, slots::id>,                  \
                "outback: a runtime class needs the member: " #result " " #id #parameters);
  OUTBACK_SLOTS_OF_runtime(OUTBACK_X);
#undef OUTBACK_X
#define OUTBACK_X(group, slot, id, result, parameters, ...)                                     \
  static_assert(is_whole_in<R, slots::id>, "outback: the class has a part of the group " #group \
                                           ", but not the member: " #result " " #id #parameters);
#define OUTBACK_OF_GROUP(group, introduced, needed, ...)                    \
  OUTBACK_SLOTS_OF_##group(OUTBACK_X) static_assert(                        \
      !names_group<R, outback_##group> || names_group<R, outback_##needed>, \
      "outback: the group " #group " needs the group " #needed);
  OUTBACK_GROUPS(OUTBACK_OF_GROUP);
#undef OUTBACK_OF_GROUP
#undef OUTBACK_X
  return true;
}

}  // namespace outback::detail
