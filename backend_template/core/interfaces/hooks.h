// The accelerator hooks: ATen's interface to a device type beyond the guard, for its start,
// generators, pinned memory and the resizing of storages. Registration registers them.
#pragma once

namespace at {
struct PrivateUse1HooksInterface;
}  // namespace at

namespace outback::core {

/// Returns the hooks to register with at::RegisterPrivateUse1HooksInterface. The object also
/// implements kernel_services, by which native kernels find the backend (kernel_services.h). It is
/// never destroyed, since ATen keeps the pointer for ever.
at::PrivateUse1HooksInterface& accelerator_hooks();

}  // namespace outback::core
