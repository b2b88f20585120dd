// The memory of other processes that is open in this process. The ipc slots of runtimes use it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "outback/runtime_error.hpp"

namespace outback {

/// Counts for each device how often each memory was opened. `Identity` identifies a memory, also
/// when another handle opens the same memory again. May be used from any thread. Holds its one lock
/// while it calls a function of the caller.
template <class Identity>
class opened_memory {
 public:
  /// Returns the memory's address on the device. The first time, calls `open_it()` to open the
  /// memory and get its address; if `open_it` throws, nothing is open.
  template <class Open>
  void* open(const Identity& which, int32_t device, const Open& open_it) {
    const std::lock_guard lock(mutex_);
    // Make the entry first, so that nothing can fail once the memory is open.
    const auto [place, is_new] = opened_.try_emplace({which, device});
    if (is_new) {
      try {
        place->second.base = open_it();
      } catch (...) {
        opened_.erase(place);
        throw;
      }
    }
    ++place->second.times;
    return place->second.base;
  }

  /// Undoes one `open` that returned `base` for the device. The last `close` calls `close_it()` to
  /// close the memory; if `close_it` throws, the memory stays open. Throws
  /// outback::invalid_argument if `base` is not open for the device.
  template <class Close>
  void close(void* base, int32_t device, const Close& close_it) {
    const std::lock_guard lock(mutex_);
    const auto entry = std::find_if(opened_.begin(), opened_.end(), [&](const auto& each) {
      return each.second.base == base && each.first.second == device;
    });
    if (entry == opened_.end()) refuse(base, device);
    if (entry->second.times == 1) {
      close_it();
      opened_.erase(entry);
    } else {
      --entry->second.times;
    }
  }

 private:
  struct opened {
    void* base = nullptr;
    uint64_t times = 0;
  };

  // The caller holds mutex_.
  [[noreturn]] void refuse(void* base, int32_t device) const {
    for (const auto& [key, each] : opened_) {
      if (each.base != base) continue;
      throw invalid_argument("the memory was opened for device " + std::to_string(key.second) +
                             ", not for device " + std::to_string(device));
    }
    throw invalid_argument("the pointer is not one that ipc.open_memory answered: closed already?");
  }

  std::mutex mutex_;
  std::map<std::pair<Identity, int32_t>, opened> opened_;
};

}  // namespace outback
