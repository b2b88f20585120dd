// Modules of kernels that a program loads, and the launch of such a kernel, through the group
// `kernels` of outback/runtime.h. All functions are thread-safe and start the backend.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/Stream.h>

#include <string>
#include <string_view>

#include "outback/runtime.h"

namespace outback::core {

/// Returns what the device takes. Throws c10::NotImplementedError if the runtime has no group
/// `kernels`; the text names `caller`, the function that needs the group.
outback_formats kernel_formats(c10::DeviceIndex device, const char* caller);

/// Loaded code. The destructor unloads it; launches that are not done yet still run. In a forked
/// child the destructor does nothing, since the code belongs to the parent.
class kernel_module {
 public:
  /// Loads `bytes`, which may take seconds: call it without the GIL. Throws what `check` throws:
  /// the text has the words of the driver or its compiler.
  kernel_module(c10::DeviceIndex device, outback_format format, std::string_view bytes);
  ~kernel_module();
  kernel_module(const kernel_module&) = delete;
  kernel_module& operator=(const kernel_module&) = delete;

  /// Returns the kernel, which lives as long as the module. Throws c10::Error if there is none of
  /// this name.
  outback_kernel find(const std::string& name) const;
  /// Returns the facts about a kernel of this module.
  outback_kernel_info info(outback_kernel kernel) const;

 private:
  const c10::DeviceIndex device_;
  outback_module handle_ = nullptr;
};

/// Enqueues the launch on `stream`, for all observers. `kernel` belongs to a module of the stream's
/// device. Throws what `check` throws.
void launch_kernel(const c10::Stream& stream, outback_kernel kernel, const outback_launch& launch);

}  // namespace outback::core
