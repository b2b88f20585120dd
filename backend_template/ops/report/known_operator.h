// The facts about an operator that the operator report needs, computed at the operator's first
// call.
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
  uint64_t outputs = 0;        // bit i: argument i is only written, like an out=
  int gathered = -1;     // the argument from which it reads only as many elements as its result has
  bool is_view = false;  // it reads and writes no element
  bool has_formula = false;  // the sizes of its tensors are recorded, to compute FLOPs
  // `in_place` for every operator that another device type's kernels serve: only a call tells
  // whether it runs over copies. `portable` for every operator that has a portable kernel: only a
  // call tells whether it declines. Updated when a recording begins, since a vendor may have added
  // a kernel.
  std::atomic<provider> who{provider::composed};
};

/// Returns the facts about `op`. Thread-safe.
known_operator& knowledge_of(const c10::OperatorHandle& op);

/// Sets the operators, such as "aten::mm", for which tensor sizes are recorded, and updates `who`
/// of each operator that is known already. Thread-safe.
void renew_knowledge(const std::vector<std::string>& with_formulas);

}  // namespace outback::ops
