// What the operator report has to know of an operator's schema, worked out at its first call.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "backend_template/ops/report/provider.h"

namespace outback::ops {

/// Lives until the process ends.
struct known_operator {
  std::string name, overload;  // "aten::add", "Tensor"
  uint64_t outputs = 0;        // bit i: argument i is only written, as an out= is
  int gathered = -1;           // the argument of which it reads what its result has, and no more
  bool is_view = false;        // it reads and writes no element
  bool has_formula = false;    // somebody wants the sizes of its tensors, to work out its FLOPs
  // in_place for all that another device type's kernels serve: only a call tells how. Asked for
  // again when a recording begins: a vendor's kernel may have come since.
  std::atomic<provider> who{provider::composed};
};

/// Returns what is known of `op`. Thread-safe.
known_operator& knowledge_of(const c10::OperatorHandle& op);

/// Says for which operators, "aten::mm", the sizes of tensors are wanted, and asks again who serves
/// each operator that is known already. Thread-safe.
void renew_knowledge(const std::vector<std::string>& with_formulas);

}  // namespace outback::ops
