// An operator that is known by its name, with the facts that its calls need.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/macros/Macros.h>

#include <atomic>

#include "backend_template/ops/copies/policy.h"
#include "backend_template/ops/in_place/op_facts.h"

namespace outback::ops {

/// Lives as long as the process. The first call finds the operator and reads its facts.
/// Thread-safe.
class named_operator {
 public:
  struct facts : op_facts {
    c10::OperatorHandle handle;
  };

  /// `name` has the operator's full name, such as "aten::add", and its overload.
  explicit constexpr named_operator(operator_text name) : text(name) {}

  /// Throws std::bad_optional_access, at the first call, if this torch has no such operator.
  const facts& known() {
    const facts* const found = known_.load(std::memory_order_acquire);
    return C10_LIKELY(found != nullptr) ? *found : find();
  }

  const operator_text text;

 private:
  const facts& find();

  std::atomic<const facts*> known_{nullptr};
};

}  // namespace outback::ops
