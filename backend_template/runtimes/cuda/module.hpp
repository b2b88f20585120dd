// An outback_module of the CUDA runtime points to a `module`, an outback_kernel to a `kernel`.
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "outback/runtime.h"

namespace outback::cuda {

class device;
struct module;

/// A kernel of a module, with the driver's facts about it. Only `allowed_local` changes.
struct kernel {
  /// Finds the kernel and asks the driver about it, which also loads a kernel that CUDA loads
  /// lazily. The context must be current. Throws outback::invalid_argument if the module has no
  /// such kernel; otherwise throws like `device::call`.
  kernel(module& of, const std::string& name);

  module& of;
  const std::string name;
  CUfunction handle = nullptr;
  /// In bytes, in the order of the parameters; nothing if the driver does not tell.
  std::optional<std::vector<std::size_t>> argument_sizes;
  int max_items = 0, registers = 0;
  /// Bytes of local memory that the kernel has itself, and that a launch may ask for beside them.
  std::size_t own_local = 0, most_local = 0;
  std::size_t private_size = 0;
  /// Bytes of local memory that CUDA lets a launch ask for at the moment.
  std::atomic<std::size_t> allowed_local{0};

  /// Throws outback::invalid_argument for arguments, items or local memory that do not fit the
  /// kernel or the device.
  void check(const outback_launch& launch) const;
};

/// May be used from any thread; the destructor, which unloads nothing, must run after every other
/// call has returned.
struct module {
  module(device& of, CUmodule handle) :of(of), handle(handle) {}

  device& of;
  const CUmodule handle;
  /// Set by the first launch in a capture: graphs may have launches of the module's kernels.
  std::atomic<bool> is_captured{false};

  /// Returns the kernel, which lives as long as the module. Throws the same as kernel's
  /// constructor. The context must be current.
  kernel& find(const std::string& name);

 private:
  std::mutex mutex_;  // not held while the driver works
  std::map<std::string, std::unique_ptr<kernel>> kernels_;
};

/// Loads the image, which ends with a null character. The context must be current. Throws
/// outback::runtime_error with the compiler's log and CUDA's words if the driver refuses it.
CUmodule load_image(device& d, const std::vector<char>& image);

}  // namespace outback::cuda
