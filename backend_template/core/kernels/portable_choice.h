// On which devices portable kernels (portable/) may serve operators: OUTBACK_PORTABLE.
#pragma once

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

/// Returns what the variable says.
portable_choice portable_devices() noexcept;

}  // namespace outback::core
