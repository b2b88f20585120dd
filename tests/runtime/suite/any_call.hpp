// A call of any slot, made from the list of slots: for what holds for all of them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <tuple>
#include <type_traits>

#include "outback/detail/slots.hpp"
#include "outback/runtime.h"

namespace outback::suite {

/// Room for what any argument points to.
struct place {
  alignas(64) std::array<std::byte, sizeof(outback_records)> bytes;

  place() {
    bytes.fill(std::byte{0x5a});
    const uint32_t size = sizeof(outback_records);  // the largest of all structs, and a size in one
    std::memcpy(bytes.data(), &size, sizeof(size));
    std::memset(bytes.data() + sizeof(size), 0, sizeof(size));
  }
};

template <class Owner, class... Args>
auto arguments_of(outback_status (*Owner::*)(void*, Args...)) {
  return std::tuple<Args...>();
}

/// One call of `Slot`, whose arguments are what they have to be as far as the table can tell.
template <class Slot>
class call_of {
 public:
  call_of() {
    each([&](std::size_t i, slots::argument a, auto& value) {
      using Value = std::remove_reference_t<decltype(value)>;
      if constexpr (std::is_same_v<Value, outback_callback>) {
        value = [](void*) {};
      } else if constexpr (std::is_same_v<Value, const outback_launch*>) {
        static constexpr outback_launch one_item = {.struct_size = sizeof(outback_launch),
                                                    .argument_count = 0,
                                                    .arguments = nullptr,
                                                    .groups = {1, 1, 1},
                                                    .items = {1, 1, 1},
                                                    .local_size = 0};
        value = &one_item;
      } else if constexpr (std::is_pointer_v<Value>) {
        value = reinterpret_cast<Value>(places_[i].bytes.data());
      } else {
        const bool names_a_device = a.is == slots::role::device || a.is == slots::role::side;
        const std::string name = a.name;
        value = name == "peer" || name == "flags" ? Value{1} : Value(names_a_device ? 0 : 8);
      }
    });
  }

  // The arguments point into this object.
  call_of(const call_of&) = delete;
  call_of& operator=(const call_of&) = delete;

  /// `visit(number, argument, value&)` for each argument.
  template <class Visit>
  void each(Visit&& visit) {
    std::size_t i = 0;
    const auto one = [&](auto& value) {
      const std::size_t now = i++;
      visit(now, Slot::arguments[now], value);
    };
    std::apply([&](auto&... all) { (one(all), ...); }, arguments_);
  }

  outback_status operator()(const outback_runtime& table) const {
    const auto function = slots::function_in<Slot>(table);
    return std::apply([&](auto... all) { return function(table.self, all...); }, arguments_);
  }

  /// Every byte that the arguments point to is what it was.
  bool untouched() const {
    return std::all_of(places_.begin(), places_.end(),
                       [](const place& each) { return each.bytes == place().bytes; });
  }

 private:
  std::array<place, std::size(Slot::arguments)> places_;
  decltype(arguments_of(Slot::pointer)) arguments_;
};

}  // namespace outback::suite
