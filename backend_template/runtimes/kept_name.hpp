// Names that records of work refer to until the process ends.
#pragma once

#include <mutex>
#include <set>
#include <string>

namespace outback {

/// Returns `name` at an address that stays valid until the process ends, the same address each
/// time. For names of kernels: records may be read after the module is gone. May be called from any
/// thread.
inline const char* kept_name(const std::string& name) {
  static auto& mutex = *new std::mutex;  // both are leaked, for the same reason
  static auto& names = *new std::set<std::string>;
  const std::lock_guard lock(mutex);
  return names.insert(name).first->c_str();
}

}  // namespace outback
