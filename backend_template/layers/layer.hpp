// A table over a table: how a layer gets between every slot and its caller.
#pragma once

#include <cstdint>
#include <type_traits>

#include "backend_template/layers/call.hpp"
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
  const outback_runtime* table() const noexcept { return &runtime_; }

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
  explicit layer(const outback_runtime& below) : below_(below), runtime_(below_.runtime()) {
    runtime_.self = this;
    runtime_.last_error = &last_error;
#define OUTBACK_X(group, member, id, ...) group##_.member = &thunk<slots::id>;
    OUTBACK_LAYER_SLOTS(OUTBACK_X)
#undef OUTBACK_X
#define OUTBACK_X(group)                          \
  group##_.struct_size = sizeof(outback_##group); \
  if (runtime_.group != nullptr) runtime_.group = &group##_;
    OUTBACK_LAYER_GROUPS(OUTBACK_X)
#undef OUTBACK_X
  }
  ~layer() = default;
  layer(const layer&) = delete;
  layer& operator=(const layer&) = delete;

  template <class Slot, class... Args>
  static outback_status thunk(void* self, Args... args) noexcept {
    static_assert(slot_facts_of<Slot>.fits,
                  "OUTBACK_LAYER_SLOTS says of an argument what its type cannot be, its type of "
                  "handle has no handle_name, or there are more outputs than most_outputs");
    auto* me = static_cast<layer*>(self);
    try {
      const outback_status status = static_cast<Layer*>(me)->template call<Slot>(args...);
      if (status != OUTBACK_OK && status != OUTBACK_NOT_READY) own_error::forget(me);
      return status;
    } catch (...) {
      return own_error::keep_exception(me);
    }
  }

  static const char* last_error(void* self) {
    const char* own = own_error::text_of(self);
    return own != nullptr ? own : static_cast<layer*>(self)->error_below();
  }

  const complete_table below_;
  outback_runtime runtime_;
#define OUTBACK_X(group) outback_##group group##_ = {};
  OUTBACK_LAYER_GROUPS(OUTBACK_X)
#undef OUTBACK_X
};

}  // namespace outback::layers
