// Carries the c10::BackendMeta of the device's tensors through torch.save and torch.load, with the
// two functions in backend_options::backend_meta. Only the registration uses this header.
#pragma once

#include "outback/backend.h"

namespace outback::registration {

/// Throws c10::ValueError if `options` has only one of the two functions, and c10::Error if another
/// library has already registered functions for PrivateUse1 with PyTorch. Changes nothing.
void check_backend_meta(const backend_options& options);

/// If the backend has the two functions, registers them with PyTorch
/// (torch::jit::TensorBackendMetaRegistry), which keeps them until the process ends. Call it once,
/// after `check_backend_meta`.
void register_backend_meta(const backend_options& options);

}  // namespace outback::registration
