// Checks of device numbers and handles that all runtimes share.
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
/// `of` and the call names another `device`. A runtime cannot check anything else about a handle:
/// the caller must pass a handle of this runtime that still exists.
inline void check_owner(const char* what, int32_t of, int32_t device) {
  if (of == device) return;
  throw invalid_argument("the " + std::string(what) + " is of device " + std::to_string(of) +
                         ", not of device " + std::to_string(device));
}

/// Returns device number `index` in a runtime's list. Throws outback::invalid_argument if there is
/// no such device; `absence` is the reason if the list is empty.
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
