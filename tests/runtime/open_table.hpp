// A copy of a table of which a test may change every slot.
#pragma once

#include <type_traits>

#include "backend_template/layers/slots.hpp"
#include "outback/runtime.h"

namespace outback {

/// `given` has the groups that a test asks for; absent ones stay absent.
struct open_table {
  explicit open_table(const outback_runtime& given) : runtime(given) {
#define OUTBACK_X(group)          \
  if (given.group != nullptr) {   \
    group = *given.group;         \
    runtime.group = &this->group; \
  }
    OUTBACK_LAYER_GROUPS(OUTBACK_X)
#undef OUTBACK_X
  }
  // The table points into this object.
  open_table(const open_table&) = delete;
  open_table& operator=(const open_table&) = delete;

  /// The place of `Slot`, a type of backend_template/layers/slots.hpp.
  template <class Slot>
  auto& at() {
    return owner<typename Slot::owner>().*Slot::pointer;
  }

  outback_runtime runtime;
#define OUTBACK_X(group) outback_##group group = {};
  OUTBACK_LAYER_GROUPS(OUTBACK_X)
#undef OUTBACK_X

 private:
  template <class Owner>
  Owner& owner() {
    if constexpr (std::is_same_v<Owner, outback_runtime>) {
      return runtime;
    } else {
      return const_cast<Owner&>(*(runtime.*layers::group_member<Owner>));
    }
  }
};

}  // namespace outback
