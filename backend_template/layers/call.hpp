// One call of any slot as plain data, without the types of its arguments. A layer's `call` is
// compiled once for each slot. Code that all slots share works on `any_call`, so it is compiled
// only once.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string_view>
#include <type_traits>

#include "outback/detail/slots.hpp"

namespace outback::layers {

using slots::argument;
using slots::handle_name;
using slots::is_output;
using slots::role;

/// The kind of an argument's value: it decides how a trace prints the argument and how validation
/// reads it.
enum class form : uint8_t {
  integer,     // a signed number of 4 or 8 bytes
  natural,     // an unsigned number of 4 or 8 bytes
  address,     // a pointer, a handle or a function
  text,        // a null-terminated const char*
  ipc_handle,  // an outback_ipc_handle
  launch,      // an outback_launch
  structure,   // any other struct; it begins with its struct_size
};

/// An argument of a slot, with facts about its C++ type. For an output, `type`, `size` and `kind`
/// describe the value that the pointer points to.
struct parameter : argument {
  form type;
  std::size_t size;       // of the output's value, in bytes; 0 if the argument is not an output
  std::string_view kind;  // `handle_name` of a handle, otherwise empty
  /// Returns whether the output is a struct that begins with struct_size, which the caller sets.
  bool has_struct_size() const {
    return is_output(is) && (type == form::ipc_handle || type == form::structure);
  }
};

/// Everything about a slot, without its type. There is one constant for each slot, `slot_facts_of`,
/// so its address identifies the slot.
struct slot_facts {
  static constexpr std::size_t most_arguments = 6;

  const char* name;             // as in outback/runtime.h: streams.create
  const char* member_name;      // as in outback/runtime.hpp: stream_create
  bool may_be_not_ready;        // the slot may return OUTBACK_NOT_READY
  bool names_a_device = false;  // one of its arguments is a device index
  std::size_t argument_count = 0;
  std::array<parameter, most_arguments> parameters = {};
};

/// Whether an argument of type `Arg` is a pointer through which a slot could write: not a pointer
/// to a function or to const, and not a handle.
template <class Arg>
inline constexpr bool points_to_value =
    std::is_pointer_v<Arg> && std::is_object_v<std::remove_pointer_t<Arg>> &&
    !std::is_const_v<std::remove_pointer_t<Arg>> && handle_name<Arg> == nullptr;

namespace detail {

/// The form of a value of type T.
template <class T>
consteval form form_of() {
  if (std::is_same_v<T, const outback_ipc_handle*> || std::is_same_v<T, outback_ipc_handle>) {
    return form::ipc_handle;
  }
  if (std::is_same_v<T, const outback_launch*>) return form::launch;
  if (std::is_same_v<T, const char*>) return form::text;
  if (std::is_pointer_v<T>) return form::address;
  if (!std::is_integral_v<T>) return form::structure;
  return std::is_signed_v<T> ? form::integer : form::natural;
}

/// `handle_name` of T, or "" if T is not a handle.
template <class T>
consteval std::string_view kind_of() {
  if constexpr (handle_name<T> != nullptr) {
    return handle_name<T>;
  } else {
    return {};
  }
}

/// Joins the facts about an argument from the list of slots and from its C++ type. Does not compile
/// for an output of a type that `word_at` and `own_output` could not handle.
template <class Arg>
consteval parameter parameter_of(argument a) {
  if constexpr (points_to_value<Arg>) {
    using T = std::remove_pointer_t<Arg>;
    static_assert(!std::is_integral_v<T> || sizeof(T) == 4 || sizeof(T) == 8);
    if constexpr (!std::is_integral_v<T> && !std::is_pointer_v<T>) {
      static_assert(offsetof(T, struct_size) == 0, "an output that is a struct says its size");
    }
    if (is_output(a.is)) return {a, form_of<T>(), sizeof(T), kind_of<T>()};
  }
  return {a, form_of<Arg>(), 0, kind_of<Arg>()};
}

/// Makes the facts of a slot from its type and the types of its arguments.
template <class Slot, class Owner, class... Args>
consteval slot_facts facts_of(outback_status (*Owner::*)(void*, Args...)) {
  slot_facts facts = {.name = Slot::name,
                      .member_name = Slot::member_name,
                      .may_be_not_ready = Slot::may_be_not_ready};
  for (const argument& a : Slot::arguments) {
    if (a.is == role::device || a.is == role::side) facts.names_a_device = true;
  }
  ((facts.parameters[facts.argument_count] =
        parameter_of<Args>(Slot::arguments[facts.argument_count]),
    ++facts.argument_count),
   ...);
  return facts;
}

}  // namespace detail

/// The facts of a slot. `Slot` is a type in namespace `outback::slots`.
template <class Slot>
inline constexpr slot_facts slot_facts_of = detail::facts_of<Slot>(Slot::pointer);

/// The value of one argument as 64 bits: a number or an address. Only the `parameter` knows which
/// of the two. A signed number is sign-extended.
class word {
 public:
  word() = default;
  template <std::integral T>
  word(T number) : bits_(uint64_t(number)) {}
  word(const void* address) : bits_(reinterpret_cast<uintptr_t>(address)) {}
  word(outback_callback function) : bits_(reinterpret_cast<uintptr_t>(function)) {}

  /// Returns the value as a device index or any other int32_t.
  int32_t device() const { return int32_t(bits_); }
  uint64_t number() const { return bits_; }
  const void* address() const { return reinterpret_cast<const void*>(uintptr_t(bits_)); }

 private:
  uint64_t bits_ = 0;
};

/// One call: the slot and its arguments. Make it as `{slot_facts_of<Slot>, {args...}}`.
struct any_call {
  const slot_facts& slot;
  std::array<word, slot_facts::most_arguments> words;
};

/// Calls `visit(parameter, word)` for each argument, in order.
template <class Visit>
void for_each_argument(const any_call& call, Visit&& visit) {
  for (std::size_t i = 0; i < call.slot.argument_count; ++i) {
    visit(call.slot.parameters[i], call.words[i]);
  }
}

/// Returns the devices that the arguments of the call name, without OUTBACK_HOST.
std::set<int32_t> devices_of(const any_call& call);

/// Returns the device of the call's stream, event or graph; OUTBACK_HOST if the call names no
/// device. For a copy it is the source's device, or the destination's if the source is the host
/// (outback/runtime.h, mem_copy). For a slot with `device` and `peer` it is `device`.
int32_t stream_device(const any_call& call);

/// Reads the value of the output `p` at `place`. Not for structs.
word word_at(const void* place, const parameter& p);

}  // namespace outback::layers
