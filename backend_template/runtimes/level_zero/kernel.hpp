// A kernel of a module, and how it is launched.
#pragma once

#include <level_zero/ze_api.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>

#include "backend_template/runtimes/level_zero/device.hpp"
#include "backend_template/runtimes/spirv_kernels.hpp"
#include "outback/runtime.h"

namespace outback::level_zero {

/// outback_kernel points to this. May be used from any thread; throws like `check`.
class kernel {
 public:
  /// Makes the kernel `declared` of the driver's module. Both the module and `declared` must live
  /// longer than the kernel.
  kernel(device& on, ze_module_handle_t of, const spirv_kernel& declared);
  kernel(const kernel&) = delete;
  kernel& operator=(const kernel&) = delete;
  /// Gives the kernel back to the driver, once: nothing may use it any more. Returns whether the
  /// driver took it.
  bool give_back() const noexcept;

  int32_t device_index() const noexcept { return device_.index(); }
  const outback_kernel_info& info() const noexcept { return info_; }

  /// Enqueues one launch. Throws outback::invalid_argument if the arguments or the numbers of
  /// groups and items do not fit the kernel or the device.
  void launch(command_queue& q, const outback_launch& given);

 private:
  void ask_driver();
  void check_arguments(const outback_launch& given) const;
  void check_sizes(const outback_launch& given) const;
  void check_most(const char* what, const char* where, uint64_t count, uint64_t most) const;
  [[noreturn]] void refuse(const std::string& why) const;
  void set_argument(uint32_t number, std::size_t size, const void* value) const;
  // Whether a launch gives the size of the last parameter, which is local memory.
  bool has_local() const noexcept;

  device& device_;
  const spirv_kernel& declared_;
  ze_kernel_handle_t handle_ = nullptr;
  outback_kernel_info info_ = {};
  // The driver's kernel holds group size and arguments until a launch is appended: one thread at a
  // time sets them and appends. Taken before the mutex of a queue.
  std::mutex mutex_;
};

}  // namespace outback::level_zero
