// The operators that models spend their calls on.
#pragma once

namespace outback::ops {

class registrar;

/// Gives them kernels that are not boxed. All others, and what these do not cover, are served by
/// boxed ones.
void register_common_operators(registrar& to);

}  // namespace outback::ops
