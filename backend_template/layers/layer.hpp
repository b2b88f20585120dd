// The base class of all layers: it makes the table that callers get, and routes every call of every
// slot to one member function of the layer. Read it to write a new layer; fault injection
// (faults.cpp) is the shortest example.
#pragma once

#include <cstdint>
#include <type_traits>

#include "backend_template/layers/call.hpp"
#include "backend_template/layers/own_error.hpp"
#include "backend_template/layers/slots.hpp"
#include "outback/table_check.hpp"

namespace outback::layers {

/// The base class of `Layer` (a class that passes itself as the parameter). `Layer` must have the
/// member
///
///   template <class Slot, class... Args> outback_status call(Args... args);
///
/// which gets each call of each slot: `Slot` is its type in slots.hpp, `args` are the arguments
/// after `self`. It is called from any thread, also by several at once, and calls the table below
/// with `below`, or does not. It may throw what a runtime may throw (outback/runtime_error.hpp):
/// the exception becomes the status, and its text becomes that of `last_error`.
///
/// `last_error` itself does not go through `call`.
///
/// Whoever makes a layer leaks it, and with it the table, since calls may come until the process
/// ends.
template <class Layer>
class layer {
 public:
  /// The table that callers get. It has the same groups as the table below, and lives as long as
  /// the layer.
  const outback_runtime* table() const noexcept { return &runtime_; }

  /// Returns the layer whose `table()` it is; null if the table is another one or null. The
  /// function `last_error` identifies the type of the layer: each type has its own.
  static Layer* of(const outback_runtime* table) noexcept {
    const bool ours = table != nullptr && table->last_error == &last_error;
    return ours ? static_cast<Layer*>(static_cast<layer*>(table->self)) : nullptr;
  }

 protected:
  /// Calls the same slot of the table below and returns its status. Only for slots of groups that
  /// the table below has.
  template <class Slot, class... Args>
  outback_status below(Args... args) const {
    const outback_runtime& table = below_.runtime();
    // A required slot is a member of the table, any other a member of the group it points to.
    if constexpr (std::is_same_v<typename Slot::owner, outback_runtime>) {
      return (table.*Slot::pointer)(table.self, args...);
    } else {
      return (table.*group_member<typename Slot::owner>->*Slot::pointer)(table.self, args...);
    }
  }

  /// Returns the text of the calling thread's last failure below; never null. Valid until that
  /// thread's next failure.
  const char* error_below() const {
    const char* text = below_.runtime().last_error(below_.runtime().self);
    return text == nullptr ? "" : text;
  }

 private:
  friend Layer;

  /// Copies `below`, which must pass `outback::table_problem`. Private, so that only `Layer` itself
  /// can derive from layer<Layer>.
  explicit layer(const outback_runtime& below) : below_(below), runtime_(below_.runtime()) {
    // Every slot of every group gets its thunk. The groups that the table below has not stay null
    // in runtime_, so nobody can call their thunks.
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

  // The C function that stands in the table for a slot. No exception may leave it.
  template <class Slot, class... Args>
  static outback_status thunk(void* self, Args... args) noexcept {
    static_assert(slot_facts_of<Slot>.fits,
                  "OUTBACK_LAYER_SLOTS says of an argument what its type cannot be, its type of "
                  "handle has no handle_name, or there are more outputs than most_outputs");
    auto* me = static_cast<layer*>(self);
    try {
      const outback_status status = static_cast<Layer*>(me)->template call<Slot>(args...);
      // A failure without an exception came from below, so from now on last_error asks below.
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
  outback_runtime runtime_;  // and the groups that it points to: streams_, events_, ...
#define OUTBACK_X(group) outback_##group group##_ = {};
  OUTBACK_LAYER_GROUPS(OUTBACK_X)
#undef OUTBACK_X
};

}  // namespace outback::layers
