// Device memory of other processes: handles for it, and what of it is open here.
#pragma once

#include <level_zero/ze_api.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <tuple>

#include "backend_template/runtimes/level_zero/allocations.hpp"
#include "backend_template/runtimes/level_zero/device.hpp"
#include "outback/runtime.h"

namespace outback::level_zero {

/// May be used from any thread; throws like `check`.
class shared_memory {
 public:
  /// For `of`, memory of `owner`. The descriptor is the caller's.
  outback_ipc_handle share(device& owner, const allocation& of);
  /// The same memory, opened again, is at the same place. Throws outback::invalid_argument for
  /// memory of this process, and for what is no handle of memory.
  void* open(device& there, const outback_ipc_handle& handle);
  /// Throws outback::invalid_argument if `ptr` is not open for `there`.
  void close(device& there, void* ptr);

 private:
  using identity = std::tuple<uint64_t, uint64_t, uint64_t, int32_t>;  // process, memory, device
  struct opened {
    void* base;
    uint64_t times;
  };

  std::mutex mutex_;
  std::map<identity, opened> opened_;
};

}  // namespace outback::level_zero
