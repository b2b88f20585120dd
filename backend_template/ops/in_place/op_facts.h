// What a boxed kernel has to know of an operator's schema, as bit masks.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <cstdint>
#include <optional>

#include "backend_template/ops/copies/policy.h"

namespace outback::ops {

/// Bit i stands for argument i.
struct op_facts {
  std::optional<operator_text> judged_as;  // by the fallback mode
  uint32_t arguments = 0;
  uint32_t returns = 0;
  uint64_t handled = 0;      // may be or hold a tensor, a storage, a device or a generator
  uint64_t written = 0;      // the operator changes it
  uint64_t overwritten = 0;  // all of it, whatever it was
  uint64_t generators = 0;
  uint64_t cpu_allowed = 0;          // may be a CPU tensor by contract
  bool results_stay_on_cpu = false;  // metadata, on the CPU whatever the device
  bool tells_host = false;           // a value or a shape comes out of the tensors' contents
  bool asks_requires_grad = false;  // the CPU kernel does, to know what the backward pass will need
};

op_facts facts_of(const c10::OperatorHandle& op);

}  // namespace outback::ops
