// The dtypes that tensors of this backend may have, and the dtypes to which autocast may cast.
// Registration sets both from backend_options; operators, the guard and the device module read
// them.
//
// The setters are not thread-safe: register_backend calls them once, before the backend can be
// used. Everything else may be called from any thread, also before registration.
#pragma once

#include <c10/core/DeviceCapability.h>
#include <c10/core/ScalarType.h>

#include <cstdint>
#include <vector>

namespace outback::core {

/// Reads OUTBACK_FLOAT64, a flag: 0 takes float64 and complex128 away from every backend, so that
/// tests can run on any device as if it lacked them. Throws c10::ValueError if it is malformed.
/// Registration calls it before it changes anything.
void read_float64_variable();

/// Returns all dtypes that the device cannot have: the `declared` ones, and those that
/// OUTBACK_FLOAT64=0 takes away. Any further reason to leave a dtype out belongs in this function.
std::vector<c10::ScalarType> all_unsupported_dtypes(std::vector<c10::ScalarType> declared);

/// Names the dtypes that tensors and storages of the device cannot have. Until the backend starts,
/// it is open whether the device has float64 and complex128, unless `dtypes` has them.
void set_unsupported_dtypes(const std::vector<c10::ScalarType>& dtypes) noexcept;

/// Takes float64 and complex128 away if `flags`, those of device 0, have OUTBACK_NO_FLOAT64. The
/// start of the backend calls it, once it knows the flags.
void set_dtypes_of_device(uint32_t flags) noexcept;

/// Sets the dtypes to which autocast may cast. The first one is autocast's default.
void set_amp_dtypes(std::vector<c10::ScalarType> dtypes);

/// Returns the dtypes of `set_amp_dtypes`; an empty list means that the device has no autocast. The
/// reference is valid until the process ends.
const std::vector<c10::ScalarType>& amp_dtypes() noexcept;

/// Returns true if tensors of the device may have `dtype`. Costs one load. Starts the backend, and
/// throws what `ensure_started` throws, for a dtype about which only the device can tell.
bool supports(c10::ScalarType dtype);

/// Returns true if no dtype is unsupported, so that callers may skip looking at each tensor. False
/// before the backend starts.
bool supports_all() noexcept;

/// Throws c10::TypeError (TypeError) for a dtype that tensors of the device cannot have.
void check_dtype(c10::ScalarType dtype);

/// Returns the supported dtypes in the form of torch.accelerator.get_device_capability. All devices
/// of the backend support the same dtypes. What only the device can tell counts as supported until
/// the backend starts.
c10::DeviceCapability capability() noexcept;

}  // namespace outback::core
