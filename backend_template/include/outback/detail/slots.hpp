// Defines a type for each slot of outback/slot_list.hpp, for use in templates, and checks at
// compile time that the list agrees with outback/runtime.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "outback/runtime.h"
#include "outback/slot_list.hpp"

namespace outback {

/// The result of `stream_priorities`. A lower number is more urgent, 0 is the default.
struct priority_range {
  int32_t least;     // the least urgent priority: 0 or more
  int32_t greatest;  // the most urgent priority: 0 or less
};

/// The result of `memory_usage`: the memory of a whole device in bytes, other processes included.
struct memory_amount {
  std::size_t free;
  std::size_t total;
};

namespace slots {

/// The role of an argument: the part of its meaning that is the same in all slots. By the role, the
/// table of a class refuses null, validation checks more, and the layer that hides devices
/// translates `device` and `side`.
enum class role : uint8_t {
  value,    // anything else: only code that knows the slot can check it
  needed,   // a pointer that is not null; otherwise as `value`
  device,   // a device index from 0 to count - 1
  side,     // a device index or OUTBACK_HOST
  output,   // a pointer that is not null; the slot writes there, on success only
  makes,    // an output that gets a new handle of the device, which is not null
  lends,    // an output that gets a handle, not null, which belongs to the call's `handle`
  handle,   // a handle of the device that the call names; not null
  or_null,  // the same, but null is allowed and means the default stream
  of_any,   // a handle of any device; not null
  ends,     // a handle of the device that the call names; the call ends it
};

/// One argument of a slot. `self` is not among the arguments.
struct argument {
  const char* name;  // as in outback/runtime.h
  role is;
};

/// Whether the slot writes through the argument, which is a pointer.
constexpr bool is_output(role r) {
  return r == role::output || r == role::makes || r == role::lends;
}

// Shorthands, with which the list reads like the declarations in outback/runtime.h.
#define OUTBACK_ROLE(is)                    \
  constexpr argument is(const char* name) { \
    return {name, role::is};                \
  }
OUTBACK_ROLE(value)
OUTBACK_ROLE(needed)
OUTBACK_ROLE(side)
OUTBACK_ROLE(output)
OUTBACK_ROLE(makes)
OUTBACK_ROLE(lends)
OUTBACK_ROLE(handle)
OUTBACK_ROLE(or_null)
OUTBACK_ROLE(of_any)
OUTBACK_ROLE(ends)
#undef OUTBACK_ROLE
inline constexpr argument device{"device", role::device};
inline constexpr argument peer{"peer", role::device};

/// Returns the arguments as an array, which may be empty.
template <class... Arguments>
constexpr std::array<argument, sizeof...(Arguments)> list_of(Arguments... arguments) {
  return {arguments...};
}

/// The name of a handle type in messages; null for a type that is not a handle. Add a line here for
/// a new handle type.
template <class Handle>
inline constexpr const char* handle_name = nullptr;
template <>
inline constexpr const char* handle_name<outback_stream> = "stream";
template <>
inline constexpr const char* handle_name<outback_event> = "event";
template <>
inline constexpr const char* handle_name<outback_graph> = "graph";
template <>
inline constexpr const char* handle_name<outback_module> = "module";
template <>
inline constexpr const char* handle_name<outback_kernel> = "kernel";

/// Whether an argument of type `Arg` can have the role. A wrong role would not fail at run time:
/// the argument would just go unchecked.
template <class Arg>
consteval bool suits(role is) {
  using target = std::remove_pointer_t<Arg>;
  switch (is) {
    case role::value:
      return true;
    case role::needed:
      return std::is_pointer_v<Arg>;
    case role::device:
    case role::side:
      return std::is_same_v<Arg, int32_t>;
    case role::output:
    case role::makes:
    case role::lends:
      return std::is_pointer_v<Arg> && handle_name<Arg> == nullptr &&
             (handle_name<target> != nullptr) == (is != role::output);
    default:
      return handle_name<Arg> != nullptr;
  }
}

/// Whether an argument of type `Arg` is a pointer to a struct that the caller fills.
template <class Arg>
inline constexpr bool is_given_struct =
    std::is_same_v<Arg, const outback_ipc_handle*> || std::is_same_v<Arg, const outback_launch*>;

/// The member's parameter for an argument of type `Arg`: a pointer to a struct becomes a reference.
template <class Arg>
using parameter_for =
    std::conditional_t<is_given_struct<Arg>,
                       std::add_lvalue_reference_t<std::remove_pointer_t<Arg>>, Arg>;

/// Whether the member's parameters match the slot's inputs (all arguments but the outputs), and
/// each role suits its argument.
template <class Owner, class... Args, class Result, class... Parameters, std::size_t N>
consteval bool row_fits(outback_status (*Owner::*)(void*, Args...), Result (*)(Parameters...),
                        [[maybe_unused]] const std::array<argument, N>& arguments) {
  if constexpr (sizeof...(Args) != N || sizeof...(Parameters) > N) {
    return false;
  } else {
    using given = std::tuple<parameter_for<Args>...>;
    bool fits = true;
    const auto inputs = [&]<std::size_t... I>(std::index_sequence<I...>) {
      return (std::is_same_v<std::tuple_element_t<I, given>, Parameters> && ...);
    };
    fits = inputs(std::index_sequence_for<Parameters...>());
    [[maybe_unused]] std::size_t i = 0;
    ((fits = fits && suits<Args>(arguments[i].is) &&
             is_output(arguments[i].is) == (i >= sizeof...(Parameters)),
      ++i),
     ...);
    return fits;
  }
}

/// Whether a member's result says if work is done. "Not done" becomes OUTBACK_NOT_READY.
template <class Result, class... Parameters>
consteval bool tells_done(Result (*)(Parameters...), std::size_t arguments) {
  return std::is_constructible_v<Result, std::nullopt_t> ||
         (std::is_same_v<Result, bool> && arguments == sizeof...(Parameters));
}

// One type for each slot, with everything that the list says about the slot.
#define OUTBACK_X(group, slot, id, result, parameters, ...)                                \
  struct id {                                                                              \
    using owner = outback_##group;                                                         \
    using member = result parameters;                                                      \
    static constexpr auto pointer = &owner::slot;                                          \
    static constexpr std::size_t offset = offsetof(owner, slot);                           \
    static constexpr bool is_required = std::is_same_v<owner, outback_runtime>;            \
    static constexpr const char* name = is_required ? #slot : #group "." #slot;            \
    static constexpr const char* name_in_group = #slot;                                    \
    static constexpr const char* member_name = #id;                                        \
    static constexpr auto arguments = list_of(__VA_ARGS__);                                \
    static constexpr bool may_be_not_ready =                                               \
        tells_done(static_cast<member*>(nullptr), std::size(arguments));                   \
    /* Calls the member of a class. */                                                     \
    template <class R, class... Args>                                                      \
    static auto call(R& object, Args&... args) -> decltype(object.id(args...)) {           \
      return object.id(args...);                                                           \
    }                                                                                      \
    /* Whether a class has something of that name. Ill-formed for an overloaded member. */ \
    template <class R>                                                                     \
    static constexpr bool is_named = requires { &R::id; };                                 \
  };                                                                                       \
  static_assert(row_fits(id::pointer, static_cast<id::member*>(nullptr), id::arguments),   \
                "the row of " #id " in outback/slot_list.hpp does not fit outback/runtime.h");
#define OUTBACK_OF_GROUP(group, ...) OUTBACK_SLOTS_OF_##group(OUTBACK_X)
OUTBACK_OF_GROUP(runtime)
OUTBACK_GROUPS(OUTBACK_OF_GROUP)
#undef OUTBACK_OF_GROUP
#undef OUTBACK_X

/// Some slots of one struct, in its order.
template <class Owner, class... Slots>
struct pack {
  /// Calls `visit(slots...)` with an object of each slot's type.
  template <class Visit>
  static constexpr decltype(auto) apply(Visit&& visit) {
    return visit(Slots()...);
  }
  /// Whether each slot begins where the one before it ends, and the last one ends at `end`.
  static consteval bool fill(std::size_t begin, std::size_t end) {
    bool in_order = true;
    ((in_order = in_order && Slots::offset == begin, begin += sizeof(void (*)())), ...);
    return in_order && begin == end;
  }
};

/// The facts that the list states about a group. The parameter is the group's struct, or
/// outback_runtime for the required slots.
template <class Owner>
struct group {
  static_assert(std::is_same_v<Owner, outback_runtime>);
#define OUTBACK_X(group, slot, id, ...) , id
  using all = pack<Owner OUTBACK_SLOTS_OF_runtime(OUTBACK_X)>;
  static_assert(all::fill(offsetof(outback_runtime, device_count),
                          offsetof(outback_runtime, streams)),
                "a required slot of outback/runtime.h is not in outback/slot_list.hpp");
};
#define OUTBACK_OF_GROUP(id, count, needed, ...)                                  \
  template <>                                                                     \
  struct group<outback_##id> {                                                    \
    using owner = outback_##id;                                                   \
    using needs = outback_##needed;                                               \
    using all = pack<owner OUTBACK_SLOTS_OF_##id(OUTBACK_X)>;                     \
    static constexpr const char* name = #id;                                      \
    static constexpr auto pointer = &outback_runtime::id;                         \
    static constexpr std::size_t introduced = count;                              \
    static_assert(all::fill(2 * sizeof(uint32_t), sizeof(owner)),                 \
                  "a slot of the group " #id " is not in outback/slot_list.hpp"); \
  };
OUTBACK_GROUPS(OUTBACK_OF_GROUP)
#undef OUTBACK_OF_GROUP
#undef OUTBACK_X

/// Whether the slot was appended to its group in a later version. A table that has the group may
/// lack such a slot.
template <class Slot>
inline constexpr bool is_appended =
    Slot::offset >=
    2 * sizeof(uint32_t) + group<typename Slot::owner>::introduced * sizeof(void (*)());
template <class Slot>
  requires Slot::is_required
inline constexpr bool is_appended<Slot> = false;

/// Calls `visit(group<outback_streams>())` and so on, for each group in the order of the table.
template <class Visit>
constexpr void for_each_group(Visit&& visit) {
#define OUTBACK_X(id, ...) visit(group<outback_##id>());
  OUTBACK_GROUPS(OUTBACK_X)
#undef OUTBACK_X
}

/// Calls `visit(slots::x())` for every slot, in the order of the list.
template <class Visit>
constexpr void for_each_slot(Visit&& visit) {
  const auto each = [&](auto... slot) { (visit(slot), ...); };
  group<outback_runtime>::all::apply(each);
  for_each_group([&](auto of) { decltype(of)::all::apply(each); });
}

/// Returns the slot's function in `table`, null if the table does not have the slot. `table` must
/// have all members of this header's version: see `complete_table`.
template <class Slot>
auto function_in(const outback_runtime& table) {
  if constexpr (Slot::is_required) {
    return table.*Slot::pointer;
  } else {
    const auto* const of = table.*group<typename Slot::owner>::pointer;
    return of == nullptr ? nullptr : of->*Slot::pointer;
  }
}

template <class First, class... Rest>
using tuple_of_rest = std::tuple<Rest...>;
#define OUTBACK_X(id, ...) , outback_##id
/// A tuple with one struct for each group.
using group_structs = tuple_of_rest<void OUTBACK_GROUPS(OUTBACK_X)>;
#undef OUTBACK_X
#define OUTBACK_X(id, ...) +1  // NOLINT(bugprone-macro-parentheses): a sum of them
static_assert(offsetof(outback_runtime, streams) + (0 OUTBACK_GROUPS(OUTBACK_X)) * sizeof(void*) ==
                  sizeof(outback_runtime),
              "a group of outback/runtime.h is not in outback/slot_list.hpp");
#undef OUTBACK_X

}  // namespace slots
}  // namespace outback
