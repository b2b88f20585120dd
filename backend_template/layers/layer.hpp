// The base class of all layers: it makes the table that callers get, and routes every call of every
// slot to one member function of the layer. Read it to write a new layer; fault injection
// (faults.cpp) is the shortest example.
#pragma once

#include <string>

#include "outback/detail/slots.hpp"
#include "outback/runtime_error.hpp"
#include "outback/table_check.hpp"

namespace outback::layers {

/// Which layer the calling thread's `outback::detail::error_text` is of, if that layer refused a
/// call itself; null if the last failure came from below all layers. The layers above it see that
/// the text is not theirs, and ask the table below.
inline thread_local constinit const void* refused_by = nullptr;

/// Throws outback::invalid_argument, with the sentence of `outback::table_problem`, unless a layer
/// can be put over `below`. A null `below` is refused too. Every function that makes a layer begins
/// with it.
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
/// which gets each call of each slot: `Slot` is its type in outback::slots, `args` are the
/// arguments after `self`. It is called from any thread, also by several at once, and calls the
/// table below with `below`, or does not. It may throw what a runtime may throw
/// (outback/runtime_error.hpp): the exception becomes the status, and its text becomes that of
/// `last_error`.
///
/// `last_error` itself does not go through `call`.
///
/// Whoever makes a layer leaks it, and with it the table, since calls may come until the process
/// ends.
template <class Layer>
class layer {
 public:
  /// The table that callers get. It has the same groups and slots as the table below, and lives as
  /// long as the layer.
  const outback_runtime* table() const noexcept { return &table_.runtime(); }

  /// Returns the layer whose `table()` it is; null if the table is another one or null. The
  /// function `last_error` identifies the type of the layer: each type has its own.
  static Layer* of(const outback_runtime* table) noexcept {
    const bool ours = table != nullptr && table->last_error == &last_error;
    return ours ? static_cast<Layer*>(static_cast<layer*>(table->self)) : nullptr;
  }

 protected:
  /// Calls the same slot of the table below and returns its status. Only for slots that the table
  /// below has.
  template <class Slot, class... Args>
  outback_status below(Args... args) const {
    return slots::function_in<Slot>(below_.runtime())(below_.runtime().self, args...);
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
  explicit layer(const outback_runtime& below) : below_(below), table_(below) {
    table_.runtime().self = this;
    table_.runtime().last_error = &last_error;
    // What the table below does not have stays null.
    slots::for_each_slot([this]<class Slot>(Slot) {
      auto*& function = table_.template function<Slot>();
      if (function != nullptr) function = &thunk<Slot>;
    });
  }
  ~layer() = default;
  layer(const layer&) = delete;
  layer& operator=(const layer&) = delete;

  // The C function that stands in the table for a slot. No exception may leave it.
  template <class Slot, class... Args>
  static outback_status thunk(void* self, Args... args) noexcept {
    auto* me = static_cast<layer*>(self);
    try {
      const outback_status status = static_cast<Layer*>(me)->template call<Slot>(args...);
      // A failure without an exception came from below, so from now on last_error asks below.
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
