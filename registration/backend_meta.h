// What tensors of this device carry in a c10::BackendMeta, through torch's pickles.
#pragma once

#include "outback/backend.h"

namespace outback::registration {

/// Throws when there is only one function of the two, or when another library has given PyTorch
/// its own for PrivateUse1.
void check_backend_meta(const backend_options& options);

/// Gives PyTorch the backend's two functions, if it has any. After `check_backend_meta`, once:
/// PyTorch keeps them for ever.
void register_backend_meta(const backend_options& options);

}  // namespace outback::registration
