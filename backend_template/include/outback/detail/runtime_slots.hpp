// The table that `outback::table_of` makes of a runtime class R. Each slot checks what a class
// should not have to check (null pointers, pattern sizes, struct sizes), calls one member of R, and
// turns an exception of that member into a status.
//
// The order matters in every slot: first refuse null pointers and structs without a size, then call
// the member, and write the outputs last. So a failure leaves the outputs as they were, as
// outback/runtime.h demands.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "outback/detail/call_check.hpp"
#include "outback/detail/runtime_members.hpp"
#include "outback/detail/slots.hpp"
#include "outback/runtime.h"
#include "outback/runtime_error.hpp"

namespace outback::detail {

// ---- Arguments that are refused before the member is called, besides those of `check_call`

// A separate function, so that compilers inline the tests of the arguments.
[[noreturn]] inline void refuse_null(const char* name) {
  throw invalid_argument(std::string(name) + " is null");
}
[[noreturn]] inline void refuse_struct_size(uint32_t struct_size) {
  throw invalid_argument("struct_size is " + std::to_string(struct_size) +
                         ": the caller must set it to the size of its struct");
}
inline void need(bool there, const char* name) {
  if (!there) refuse_null(name);
}

/// Throws invalid_argument for null if the argument's role does not allow null, and for a struct
/// whose size the caller has not set. `check_call` checks the size of an IPC handle.
template <slots::role Is, class Arg>
void check_argument(const char* name, const Arg& arg) {
  using slots::role;
  if constexpr (std::is_pointer_v<Arg> && Is != role::value && Is != role::or_null) {
    need(arg != nullptr, name);
    if constexpr (requires { arg->struct_size; } && !requires { arg->fd; }) {
      constexpr bool is_list = std::is_same_v<Arg, outback_processes*>;
      constexpr std::size_t least = is_list ? offsetof(outback_processes, list) : sizeof(uint32_t);
      if (arg->struct_size < least) refuse_struct_size(arg->struct_size);
    }
  }
}

/// A caller may pass null pointers with zero bytes. The member is still called, to check the
/// devices and the stream.
template <class Slot, class... Args>
void check_ranges(Slot, const Args&...) {}
inline void check_ranges(slots::mem_copy, void* dst, int32_t, const void* src, int32_t,
                         std::size_t size, outback_stream) {
  need(size == 0 || dst != nullptr, "dst");
  need(size == 0 || src != nullptr, "src");
}
inline void check_ranges(slots::mem_fill, int32_t, void* ptr, std::size_t size, const void*,
                         std::size_t, outback_stream) {
  need(size == 0 || ptr != nullptr, "ptr");
}

// ---- Writing a member's result to the outputs of its slot

/// Writes a struct up to the caller's `struct_size`, and leaves the member `struct_size` as it was.
template <class T>
void write(const T& value, T* out) {
  if constexpr (requires { out->struct_size; }) {
    const std::size_t size = std::min<std::size_t>(out->struct_size, sizeof(T));
    std::memcpy(reinterpret_cast<char*>(out) + sizeof(uint32_t),
                reinterpret_cast<const char*>(&value) + sizeof(uint32_t), size - sizeof(uint32_t));
  } else {
    *out = value;
  }
}
inline void write(bool value, int32_t* out) {
  *out = value ? 1 : 0;
}
inline void write(const priority_range& range, int32_t* least, int32_t* greatest) {
  *least = range.least;
  *greatest = range.greatest;
}
inline void write(const memory_amount& amount, std::size_t* free, std::size_t* total) {
  *free = amount.free;
  *total = amount.total;
}
/// Writes the number of all processes, and as many entries as the caller has room for.
inline void write(const std::vector<outback_process>& all, outback_processes* out) {
  constexpr std::size_t head = offsetof(outback_processes, list);
  const std::size_t room = (out->struct_size - head) / sizeof(outback_process);
  out->count = uint32_t(all.size());
  std::copy_n(all.begin(), std::min(all.size(), room),
              reinterpret_cast<outback_process*>(reinterpret_cast<char*>(out) + head));
}

/// Writes the result and returns the status: OUTBACK_NOT_READY for a result that says "not done".
template <class Result, class... Outputs>
outback_status answer(const Result& result, Outputs*... outputs) {
  write(result, outputs...);
  return OUTBACK_OK;
}
inline outback_status answer(bool done) {
  return done ? OUTBACK_OK : OUTBACK_NOT_READY;
}
template <class T>
outback_status answer(const std::optional<T>& result, T* out) {
  if (!result) return OUTBACK_NOT_READY;
  *out = *result;
  return OUTBACK_OK;
}

// ---- The slots

/// Converts an argument of a slot to the parameter of the member.
template <class T>
T& as_parameter(T& value) {
  return value;
}
template <class T>
  requires slots::is_given_struct<T>
auto& as_parameter(T& given) {
  return *given;
}

/// Calls the member with the first arguments, as many as it has parameters, and writes its result
/// to the remaining arguments.
template <class Slot, class R, class Result, class... Parameters, class... Args>
outback_status call_member(R& object, Result (*)(Parameters...), std::tuple<Args&...> all) {
  constexpr std::size_t inputs = sizeof...(Parameters);
  const auto call = [&]<std::size_t... I>(std::index_sequence<I...>) -> Result {
    if constexpr (std::is_void_v<Result>) {
      Slot::call(object, as_parameter(std::get<I>(all))...);
    } else {
      return Slot::call(object, as_parameter(std::get<I>(all))...);
    }
  };
  if constexpr (std::is_void_v<Result>) {
    call(std::make_index_sequence<inputs>());
    return OUTBACK_OK;
  } else {
    const Result result = call(std::make_index_sequence<inputs>());
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return answer(result, std::get<inputs + I>(all)...);
    }(std::make_index_sequence<sizeof...(Args) - inputs>());
  }
}

/// The function in the table for a slot of the class R. `self` is the object that was passed to
/// `table_of`. Lets no exception out.
template <class R, class Slot, class... Args>
outback_status call_slot(void* self, Args... args) noexcept {
  try {
    const std::tuple<Args&...> all(args...);
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (check_argument<Slot::arguments[I].is>(Slot::arguments[I].name, std::get<I>(all)), ...);
    }(std::index_sequence_for<Args...>());
    check_ranges(Slot(), args...);
    check_call(Slot(), args...);
    return call_member<Slot>(*static_cast<R*>(self), static_cast<typename Slot::member*>(nullptr),
                             all);
  } catch (...) {
    return status_of_exception();
  }
}

/// Puts the functions for R's members into a group, or into the table.
template <class R, class Owner>
constexpr void put_slots(Owner& owner) {
  const auto put = [&]<class Slot>(Slot) {
    if constexpr (has_member<R, Slot>) owner.*Slot::pointer = &call_slot<R, Slot>;
  };
  slots::group<Owner>::all::apply([&](auto... slot) { (put(slot), ...); });
}

/// The group of slots that all objects of the class R share, since `self` is in the table and not
/// in the groups.
template <class R, class Owner>
inline constexpr Owner group_of_class = [] {
  Owner group = {};
  group.struct_size = sizeof(Owner);
  put_slots<R>(group);
  return group;
}();

/// Returns the table of `object`, which is borrowed: see `table_of`. All runtimes in this library
/// that are written as a class share `error_text`, one text for each thread.
template <class R>
outback_runtime table_for(R& object) noexcept {
  outback_runtime table = {};
  table.struct_size = sizeof(table);
  table.abi_major = OUTBACK_ABI_MAJOR;
  table.abi_minor = OUTBACK_ABI_MINOR;
  table.self = std::addressof(object);
  table.last_error = [](void*) noexcept -> const char* { return error_text; };
  put_slots<R>(table);
  slots::for_each_group([&]<class Group>(Group) {
    using owner = typename Group::owner;
    if constexpr (names_group<R, owner>) table.*Group::pointer = &group_of_class<R, owner>;
  });
  return table;
}

}  // namespace outback::detail
