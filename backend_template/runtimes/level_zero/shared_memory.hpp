// Interprocess memory: handles for memory of this process, and memory of other processes that is
// open here. The ipc slots use this class.
#pragma once

#include <level_zero/ze_api.h>

#include <cstdint>
#include <mutex>
#include <utility>

#include "backend_template/runtimes/level_zero/allocations.hpp"
#include "backend_template/runtimes/level_zero/device.hpp"
#include "backend_template/runtimes/opened_memory.hpp"
#include "outback/runtime.h"

namespace outback::level_zero {

/// May be used from any thread; throws like `check`. Holds locks during calls of the driver.
class shared_memory {
 public:
  /// Returns a handle for `of`, an allocation of `owner`. The caller must close its descriptor.
  outback_ipc_handle share(device& owner, const allocation& of);
  /// Returns the memory's address on `there`. For memory that is open already, returns the same
  /// address and counts the opening. Throws outback::invalid_argument for memory of this process,
  /// and for a handle of another kind.
  void* open(device& there, const outback_ipc_handle& handle);
  /// Undoes one `open`; the last one closes the memory. Throws outback::invalid_argument if `ptr`
  /// is not open for `there`.
  void close(device& there, void* ptr);

 private:
  using identity = std::pair<uint64_t, uint64_t>;  // the process's number, the allocation's serial

  std::mutex mutex_;  // held while the driver makes a handle
  opened_memory<identity> opened_;
};

}  // namespace outback::level_zero
