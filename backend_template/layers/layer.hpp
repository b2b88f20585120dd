// A table over a table: how a layer gets between every slot and its caller.
#pragma once

#include <cstdint>
#include <tuple>
#include <type_traits>

#include "backend_template/layers/own_error.hpp"
#include "backend_template/layers/slots.hpp"
#include "outback/table_check.hpp"

namespace outback::layers {

/// The base of `Layer`, which has
///
///   template <class Slot, class... Args> outback_status call(Args... args);
///
/// and gets each call of each slot there, from any thread, to hand it on with `below` or not. It
/// may throw what a runtime may: the exception becomes the status, and its text that of
/// `last_error`.
///
/// A layer is leaked by who makes it, and with it the table: calls may come until the process ends.
template <class Layer>
class layer {
 public:
  /// Has the groups that the table below has.
  const outback_runtime* table() const noexcept { return &table_; }

  /// The layer whose `table()` it is, or null.
  static Layer* of(const outback_runtime* table) noexcept {
    const bool ours = table != nullptr && table->last_error == &last_error;
    return ours ? static_cast<Layer*>(static_cast<layer*>(table->self)) : nullptr;
  }

 protected:
  /// The same call of the table below.
  template <class Slot, class... Args>
  outback_status below(Args... args) const {
    const outback_runtime& table = below_.runtime();
    if constexpr (std::is_same_v<typename Slot::owner, outback_runtime>) {
      return (table.*Slot::pointer)(table.self, args...);
    } else {
      return (table.*group_member<typename Slot::owner>->*Slot::pointer)(table.self, args...);
    }
  }

  /// The text of the last failure below, on this thread.
  const char* error_below() const {
    const char* text = below_.runtime().last_error(below_.runtime().self);
    return text == nullptr ? "" : text;
  }

 private:
  friend Layer;

  /// `below` passes `outback::table_problem`. It is copied.
  explicit layer(const outback_runtime& below) : below_(below), table_(below_.runtime()) {
    table_.self = this;
    table_.last_error = &last_error;
    for_each_slot([&](auto slot) {
      using Slot = decltype(slot);
      owner<typename Slot::owner>().*Slot::pointer = thunk<Slot>(Slot::pointer);
    });
#define OUTBACK_X(group)                                          \
  owner<outback_##group>().struct_size = sizeof(outback_##group); \
  if (table_.group != nullptr) table_.group = &owner<outback_##group>();
    OUTBACK_LAYER_GROUPS(OUTBACK_X)
#undef OUTBACK_X
  }
  ~layer() = default;
  layer(const layer&) = delete;
  layer& operator=(const layer&) = delete;

#define OUTBACK_X(group) , outback_##group
  template <class... Groups>
  struct without_first;
  template <class First, class... Groups>
  struct without_first<First, Groups...> {
    using type = std::tuple<Groups...>;
  };
  using all_groups = typename without_first<void OUTBACK_LAYER_GROUPS(OUTBACK_X)>::type;
#undef OUTBACK_X

  template <class Owner>
  Owner& owner() {
    if constexpr (std::is_same_v<Owner, outback_runtime>) {
      return table_;
    } else {
      return std::get<Owner>(groups_);
    }
  }

  template <class Slot, class Owner, class... Args>
  static auto thunk(outback_status (*Owner::*)(void*, Args...)) {
    static_assert(sizeof...(Args) == argument_count<Slot>,
                  "OUTBACK_LAYER_SLOTS has another number of arguments than outback/runtime.h");
    static_assert(
        [] {
          std::size_t i = 0;
          return (fits<Args>(Slot::arguments[i++].is) && ...);
        }(),
        "OUTBACK_LAYER_SLOTS says of an argument what its type cannot be, or its type of handle "
        "has "
        "no handle_name");
    return +[](void* self, Args... args) -> outback_status {
      auto* me = static_cast<layer*>(self);
      return own_error::guarded(
          me, [&] { return static_cast<Layer*>(me)->template call<Slot, Args...>(args...); });
    };
  }

  static const char* last_error(void* self) {
    const char* own = own_error::text_of(self);
    return own != nullptr ? own : static_cast<layer*>(self)->error_below();
  }

  const complete_table below_;
  outback_runtime table_;
  all_groups groups_ = {};
};

}  // namespace outback::layers
