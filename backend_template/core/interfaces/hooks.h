// What ATen asks of an accelerator: start, default generator, pinned memory, storage resize. Native
// kernels find what they ask of the backend here too (kernel_services.h).
#pragma once

namespace at {
struct PrivateUse1HooksInterface;
}  // namespace at

namespace outback::core {

/// The hooks to register. Leaked: ATen keeps the pointer for ever.
at::PrivateUse1HooksInterface& accelerator_hooks();

}  // namespace outback::core
