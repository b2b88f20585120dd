// Unboxed kernels for the operators that models call most often.
#pragma once

namespace outback::ops {

class registrar;

/// Registers an unboxed_kernel for each of them. Boxed kernels serve all other operators.
void register_common_operators(registrar& to);

}  // namespace outback::ops
