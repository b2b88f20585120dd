// Carries the c10::BackendMeta of the device's tensors through torch.save and torch.load, by the
// two functions in backend_options::backend_meta. Internal to the registration.
#pragma once

#include "outback/backend.h"

namespace outback::registration {

/// Throws c10::ValueError if `options` has only one of the two functions, and c10::Error if another
/// library has already registered functions for PrivateUse1 with PyTorch. Changes nothing.
void check_backend_meta(const backend_options& options);

/// Registers the backend's two functions with PyTorch (torch::jit::TensorBackendMetaRegistry), if
/// it has any. Once, after `check_backend_meta`: PyTorch keeps them until the process ends.
void register_backend_meta(const backend_options& options);

}  // namespace outback::registration
