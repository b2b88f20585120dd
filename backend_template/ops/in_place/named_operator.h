// An operator by its name, and what its calls need to know of it.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/macros/Macros.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "backend_template/ops/copies/policy.h"
#include "backend_template/ops/in_place/kernel_call.h"

namespace outback::ops {

/// Lives as long as the process. What it knows, it finds out at the first call. Thread-safe.
class named_operator {
 public:
  struct facts {
    c10::OperatorHandle handle;
    uint64_t scalars_refused;  // op_facts::scalars_refused

    /// Which tensors may stand at argument `i`.
    mixing mixing_at(size_t i) const noexcept {
      return C10_LIKELY((scalars_refused >> i & 1) == 0) ? mixing::refused : mixing::no_scalars;
    }
  };

  /// By the operator's full name, such as "aten::add", and its overload's.
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
