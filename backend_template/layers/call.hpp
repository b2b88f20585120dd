// One call of any slot, without the types of its arguments: so that what all slots have in common
// is compiled once, and not for each of them.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "backend_template/layers/slots.hpp"

namespace outback::layers {

constexpr bool is_output(role r) {
  return r == role::output || r == role::makes;
}

/// What kind of value a type has.
enum class form : uint8_t {
  integer,     // of 4 or 8 bytes
  natural,     // the same, without a sign
  address,     // a handle or a function too
  ipc_handle,  // what an outback_ipc_handle* points to
  structure,   // any other; begins with its struct_size
};

/// An argument with what its type says. Of an output, that is the type of what it points to.
struct parameter : argument {
  form type;
  std::size_t size;       // in bytes; 0 for a value that is no output
  std::string_view kind;  // `handle_name`, or empty
  /// The first member of the output is its size, which the caller has set.
  bool has_struct_size() const {
    return is_output(is) && (type == form::ipc_handle || type == form::structure);
  }
};

/// All about a slot, without its type.
struct slot_facts {
  static constexpr std::size_t most_arguments = 6, most_outputs = 2;

  const char* name;
  const char* other_name;
  bool may_be_not_ready;
  bool names_a_device = false;  // that can be told from its arguments
  bool fits = true;  // no argument is what its type cannot be, and the outputs are no more
  std::size_t argument_count = 0;
  std::array<parameter, most_arguments> parameters = {};
};

/// Whether the pointer `Arg` may be an output.
template <class Arg>
inline constexpr bool points_to_value =
    std::is_pointer_v<Arg> && std::is_object_v<std::remove_pointer_t<Arg>> &&
    !std::is_const_v<std::remove_pointer_t<Arg>> && handle_name<Arg> == nullptr;

namespace detail {

template <class T>
consteval form form_of() {
  if (std::is_same_v<T, const outback_ipc_handle*> || std::is_same_v<T, outback_ipc_handle>) {
    return form::ipc_handle;
  }
  if (std::is_pointer_v<T>) return form::address;
  if (!std::is_integral_v<T>) return form::structure;
  return std::is_signed_v<T> ? form::integer : form::natural;
}

template <class T>
consteval std::string_view kind_of() {
  if constexpr (handle_name<T> != nullptr) {
    return handle_name<T>;
  } else {
    return {};
  }
}

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

/// Whether an argument of type `Arg` can be what the list says: otherwise it would go unchecked.
template <class Arg>
consteval bool fits(role is) {
  switch (is) {
    case role::value:
      return true;
    case role::device:
    case role::side:
      return std::is_same_v<Arg, int32_t>;
    case role::output:
      return std::is_pointer_v<Arg> && handle_name<std::remove_pointer_t<Arg>> == nullptr;
    case role::makes:
      return handle_name<std::remove_pointer_t<Arg>> != nullptr;
    case role::handle:
    case role::or_null:
    case role::of_any:
    case role::ends:
      return handle_name<Arg> != nullptr;
  }
  return false;
}

template <class Owner, class... Args, std::size_t N>
consteval slot_facts facts_of(outback_status (*Owner::*)(void*, Args...), slot_facts facts,
                              const argument (&arguments)[N]) {
  static_assert(sizeof...(Args) == N,
                "OUTBACK_LAYER_SLOTS has another number of arguments than outback/runtime.h");
  static_assert(N <= slot_facts::most_arguments);
  std::size_t i = 0;
  facts.fits = (fits<Args>(arguments[i++].is) && ...);
  i = 0;
  ((facts.parameters[i] = parameter_of<Args>(arguments[i]), ++i), ...);
  facts.argument_count = N;
  std::size_t outputs = 0;
  for (const argument& a : arguments) {
    if (a.is == role::device || a.is == role::side) facts.names_a_device = true;
    if (is_output(a.is)) ++outputs;
  }
  if (outputs > slot_facts::most_outputs) facts.fits = false;
  return facts;
}

}  // namespace detail

template <class Slot>
inline constexpr slot_facts slot_facts_of =
    detail::facts_of(Slot::pointer,
                     {.name = Slot::name,
                      .other_name = Slot::other_name,
                      .may_be_not_ready = Slot::may_be_not_ready},
                     Slot::arguments);

/// A number or an address; the `parameter` says which.
class word {
 public:
  word() = default;
  template <std::integral T>
  word(T number) : bits_(uint64_t(number)) {}  // with its sign
  word(const void* address) : bits_(reinterpret_cast<uintptr_t>(address)) {}
  word(outback_callback function) : bits_(reinterpret_cast<uintptr_t>(function)) {}

  int32_t device() const { return int32_t(bits_); }
  uint64_t number() const { return bits_; }
  const void* address() const { return reinterpret_cast<const void*>(uintptr_t(bits_)); }

 private:
  uint64_t bits_ = 0;
};

/// Made as `{slot_facts_of<Slot>, {args...}}`.
struct any_call {
  const slot_facts& slot;
  std::array<word, slot_facts::most_arguments> words;
};

/// Calls `visit(parameter, word)` for each argument.
template <class Visit>
void for_each_argument(const any_call& call, Visit&& visit) {
  for (std::size_t i = 0; i < call.slot.argument_count; ++i) {
    visit(call.slot.parameters[i], call.words[i]);
  }
}

/// Devices, each once, in rising order.
class device_set {
 public:
  void add(int32_t device);
  std::size_t size() const { return count_; }
  bool contains(int32_t device) const;
  const int32_t* begin() const { return all_.data(); }
  const int32_t* end() const { return all_.data() + count_; }

 private:
  std::array<int32_t, slot_facts::most_arguments> all_;  // no argument adds more than one
  std::size_t count_ = 0;
};

/// The devices that the arguments name, without the host.
device_set devices_of(const any_call& call);

/// The device that the handles of the call belong to; OUTBACK_HOST if it names none. Of two sides,
/// it is the source, which is the latter, unless that is the host; of a device and its peer, the
/// device.
int32_t stream_device(const any_call& call);

/// What is at `place`, of the type that the output `p` points to: no structure.
word word_at(const void* place, const parameter& p);

}  // namespace outback::layers
