// Who serves an operator on this backend: a vendor's kernel, a CPU kernel in place, or a CPU kernel
// over copies.
#pragma once

#include "backend_template/ops/excluded_operators.h"

namespace outback::ops {

/// Registers every operator under PrivateUse1 and its autograd, autocast and sparse relatives.
/// Called once by registration, after the runtime is installed; makes no driver call. An operator
/// that has a PrivateUse1 kernel already keeps it, and one that is excluded gets none.
void register_operators(operator_names excluded);

}  // namespace outback::ops
