// The facts about an operator's schema that a boxed kernel needs, computed once: which arguments to
// lend, which of them the kernel writes, and how to treat the results. operator_table.h has the
// facts that schemas do not contain.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <cstdint>
#include <optional>

#include "backend_template/ops/copies/policy.h"
#include "backend_template/ops/in_place/kernel_call.h"

namespace outback::ops {

/// In the masks, bit i stands for argument i of the schema, counted from 0.
struct op_facts {
  std::optional<operator_text> judged_as;  // for the fallback mode; unset if it only moves data
  uint32_t arguments = 0;                  // number of arguments in the schema
  uint32_t returns = 0;
  uint64_t handled = 0;      // is, or may hold, a tensor, a storage or a device
  uint64_t written = 0;      // the operator changes it
  uint64_t overwritten = 0;  // the operator writes it completely and does not read it
  uint64_t generators = 0;
  uint64_t cpu_allowed = 0;          // may be a CPU tensor though others are on the device
  uint64_t scalars_refused = 0;      // may not be a CPU scalar (refused_scalars.h)
  bool results_stay_on_cpu = false;  // metadata that torch keeps on the CPU for all devices
  bool changes_lists = false;        // works in place, as _foreach_add_ does
  bool tells_host = false;           // the host gets a value or shape computed from tensors
  bool asks_requires_grad = false;   // the CPU kernel reads requires_grad of its arguments
  bool on_cpu_alone = false;         // is_composed_on_pointers

  /// Returns how the operator accesses the tensors in the argument of `bit`.
  access access_at(uint64_t bit) const noexcept {
    if (C10_LIKELY((written & bit) == 0)) return access::read;
    return (overwritten & bit) != 0 ? access::overwrite : access::write;
  }

  /// Returns which tensors the argument of `bit` may have.
  mixing mixing_at(uint64_t bit) const noexcept {
    if (C10_LIKELY(((cpu_allowed | scalars_refused) & bit) == 0)) return mixing::refused;
    return (cpu_allowed & bit) != 0 ? mixing::cpu_tensors : mixing::no_scalars;
  }
};

/// Reads the schema and tags of `op`. Throws c10::Error for more than 64 arguments. Thread-safe.
/// The texts in `judged_as` belong to the schema, and live as long as the operator.
op_facts facts_of(const c10::OperatorHandle& op);

/// Returns true if torch composes the operator for every device, but the composition reads its
/// arguments' memory through pointers, so that it works only on CPU tensors.
bool is_composed_on_pointers(const c10::OperatorHandle& op);

}  // namespace outback::ops
