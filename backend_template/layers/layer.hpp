// The base class of all layers: it makes the table that callers get, and routes every call of every
// slot to one member function of the layer. Read this to write a new layer. Fault injection
// (faults.cpp) is the shortest example.
#pragma once

#include <string>

#include "outback/detail/slots.hpp"
#include "outback/runtime_error.hpp"
#include "outback/table_check.hpp"

namespace outback::layers {

/// The layer that wrote the calling thread's `outback::detail::error_text` when it refused a call
/// itself; null if the last failure came from below all layers. A layer above sees that the text is
/// from another layer, and asks the table below.
inline thread_local constinit const void* refused_by = nullptr;

/// Throws outback::invalid_argument, with the sentence of `outback::table_problem`, unless a layer
/// can be put over `below`. Refuses a null `below` too. Every function that makes a layer calls
/// this first.
inline void check_table(const outback_runtime* below) {
  if (const std::string problem = table_problem(below); !problem.empty()) {
    throw invalid_argument(problem);
  }
}

/// The base class of `Layer` (a class that passes itself as the parameter). `Layer` must have the
/// member
///
///   template <class Slot, class... Args> outback_status call(Args... args);
///
/// which gets each call of each slot: `Slot` is the slot's type in outback::slots, `args` are the
/// arguments after `self`. `call` runs on any thread, also on several at once. It may call the slot
/// of the table below through `below`. It may throw the exceptions of a runtime
/// (outback/runtime_error.hpp): the exception becomes the status, and its text the text of
/// `last_error`.
///
/// `last_error` itself does not go through `call`.
///
/// The maker of a layer must leak it together with its table, since calls may come until the
/// process ends.
template <class Layer>
class layer {
 public:
  /// Returns the table that callers get. It has the same groups and slots as the table below, and
  /// lives as long as the layer.
  const outback_runtime* table() const noexcept { return &table_.runtime(); }

  /// Returns the layer whose `table()` is `table`; null for any other table and for null. The
  /// function `last_error` identifies the type of the layer: each type has its own function.
  static Layer* of(const outback_runtime* table) noexcept {
    const bool ours = table != nullptr && table->last_error == &last_error;
    return ours ? static_cast<Layer*>(static_cast<layer*>(table->self)) : nullptr;
  }

 protected:
  /// Calls the slot `Slot` of the table below and returns its status. The table below must have the
  /// slot.
  template <class Slot, class... Args>
  outback_status below(Args... args) const {
    return slots::function_in<Slot>(below_.runtime())(below_.runtime().self, args...);
  }

  /// Returns the text of the calling thread's last failure in the table below; never null. Valid
  /// until that thread's next failure.
  const char* error_below() const {
    const char* text = below_.runtime().last_error(below_.runtime().self);
    return text == nullptr ? "" : text;
  }

 private:
  friend Layer;

  /// Copies `below`, which must pass `outback::table_problem`. Private, so that only `Layer` itself
  /// can derive from layer<Layer>.
  explicit layer(const outback_runtime& below) : below_(below), table_(below) {
    table_.runtime().self = this;
    table_.runtime().last_error = &last_error;
    // Slots that the table below lacks stay null.
    slots::for_each_slot([this]<class Slot>(Slot) {
      auto*& function = table_.template function<Slot>();
      if (function != nullptr) function = &thunk<Slot>;
    });
  }
  ~layer() = default;
  layer(const layer&) = delete;
  layer& operator=(const layer&) = delete;

  // The C function in the table for a slot. Lets no exception out.
  template <class Slot, class... Args>
  static outback_status thunk(void* self, Args... args) noexcept {
    auto* me = static_cast<layer*>(self);
    try {
      const outback_status status = static_cast<Layer*>(me)->template call<Slot>(args...);
      // A failure without an exception came from the table below, so last_error must now ask that
      // table.
      const bool failed = status != OUTBACK_OK && status != OUTBACK_NOT_READY;
      if (failed && refused_by == me) refused_by = nullptr;
      return status;
    } catch (...) {
      refused_by = me;
      return outback::detail::status_of_exception();
    }
  }

  static const char* last_error(void* self) {
    return refused_by == self ? outback::detail::error_text
                              : static_cast<layer*>(self)->error_below();
  }

  const complete_table below_;
  complete_table table_;
};

}  // namespace outback::layers
