// Checks of device numbers and handles that the runtimes make alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "outback/runtime.h"
#include "outback/runtime_error.hpp"

namespace outback {

/// Throws outback::invalid_argument if a stream, event or graph (`what`) belongs to device number
/// `of`, and the call names another one. Nothing else of a handle can be checked: it must be one of
/// the runtime's that still exists.
inline void check_owner(const char* what, int32_t of, int32_t device) {
  if (of == device) return;
  throw invalid_argument("the " + std::string(what) + " is of device " + std::to_string(of) +
                         ", not of device " + std::to_string(device));
}

/// Returns device number `index` of a runtime's list. Throws outback::invalid_argument if there is
/// none; `absence` says why there are none at all.
template <class Device>
Device& device_at(const std::vector<std::unique_ptr<Device>>& all, int32_t index,
                  const std::string& absence) {
  if (all.empty()) {
    throw invalid_argument("there is no device " + std::to_string(index) + ": " + absence);
  }
  check_device(index, int32_t(all.size()));
  return *all[std::size_t(index)];
}

}  // namespace outback
