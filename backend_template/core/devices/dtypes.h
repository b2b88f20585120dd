// Which dtypes tensors of this backend may have.
#pragma once

#include <c10/core/DeviceCapability.h>
#include <c10/core/ScalarType.h>

#include <vector>

namespace outback::core {

/// Names what the device cannot hold. Once, before the backend is registered.
void set_unsupported_dtypes(const std::vector<c10::ScalarType>& dtypes) noexcept;

/// Keeps what autocast may cast to, the default first. Once, before the backend is registered.
void set_amp_dtypes(std::vector<c10::ScalarType> dtypes);

/// Empty where there is no autocast. Lives as long as the process.
const std::vector<c10::ScalarType>& amp_dtypes() noexcept;

bool supports(c10::ScalarType dtype) noexcept;
bool supports_all() noexcept;

/// Throws c10::TypeError for a dtype that the device cannot hold.
void check_dtype(c10::ScalarType dtype);

/// The same for `torch.accelerator.get_device_capability`.
c10::DeviceCapability capability() noexcept;

}  // namespace outback::core
