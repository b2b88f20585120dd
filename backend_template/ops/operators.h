// Who serves an operator on this backend: a vendor's kernel, a CPU kernel in place, or a CPU kernel
// over copies.
#pragma once

namespace outback::ops {

/// Registers every operator under PrivateUse1 and its autograd, autocast and sparse relatives.
/// Called once by registration, after the runtime is installed; makes no driver call. An operator
/// that has a PrivateUse1 kernel already keeps it.
void register_operators();

}  // namespace outback::ops
