// A copy of a table of which a test may change every slot.
#pragma once

#include "outback/detail/slots.hpp"
#include "outback/runtime.h"

namespace outback {

/// `given` has the groups that a test asks for; absent ones stay absent.
struct open_table {
  explicit open_table(const outback_runtime& given) : runtime(given) {
#define OUTBACK_X(group, ...)     \
  if (given.group != nullptr) {   \
    group = *given.group;         \
    runtime.group = &this->group; \
  }
    OUTBACK_GROUPS(OUTBACK_X)
#undef OUTBACK_X
  }
  // The table points into this object.
  open_table(const open_table&) = delete;
  open_table& operator=(const open_table&) = delete;

  /// The place of `Slot`, a type of outback::slots.
  template <class Slot>
  auto& at() {
    if constexpr (Slot::is_required) {
      return runtime.*Slot::pointer;
    } else {
      using owner = typename Slot::owner;
      return const_cast<owner&>(*(runtime.*slots::group<owner>::pointer)).*Slot::pointer;
    }
  }

  outback_runtime runtime;
#define OUTBACK_X(group, ...) outback_##group group = {};
  OUTBACK_GROUPS(OUTBACK_X)
#undef OUTBACK_X
};

}  // namespace outback
