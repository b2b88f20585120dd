// On which devices portable kernels (portable/) may serve operators: OUTBACK_PORTABLE.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>

namespace outback::core {

enum class portable_choice : uint8_t {
  apart,   // where the CPU cannot address the device's memory
  always,  // also where it can
  never
};

/// Reads OUTBACK_PORTABLE: apart (the default), always or never. Throws c10::ValueError if it is
/// malformed. Registration calls it before it changes anything.
void read_portable_variable();

/// Returns false if the variable forbids portable kernels everywhere, so that none is registered.
bool allows_portable_kernels() noexcept;

/// Returns true if portable kernels may run on the device, a valid index: its runtime has the group
/// `kernels`, it has no twin, and the variable allows them there. Says nothing of whether the
/// backend packs any. Starts the backend; throws what the start and `device_info` throw.
bool runs_portable_kernels(c10::DeviceIndex device);

}  // namespace outback::core
