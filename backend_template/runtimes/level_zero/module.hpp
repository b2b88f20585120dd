// A module: the driver's, and the kernels of it that were asked for.
#pragma once

#include <level_zero/ze_api.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backend_template/runtimes/level_zero/device.hpp"
#include "backend_template/runtimes/level_zero/kernel.hpp"

namespace outback::level_zero {

/// outback_module points to this. May be used from any thread; throws like `check`.
class module final : public in_use_object {
 public:
  /// Compiles a SPIR-V module. Throws outback::invalid_argument if the bytes are no SPIR-V, or if
  /// the driver refuses them: then the text begins with the driver's build log, if it can be read.
  module(device& on, const void* bytes, std::size_t size);
  /// Gives the module and its kernels back to the driver. No launch may be pending.
  ~module() override;

  int32_t device_index() const noexcept { return device_.index(); }
  /// Returns the kernel, which lives as long as the module. The first call for a name makes it.
  /// Throws outback::invalid_argument if the module has no kernel of this name.
  kernel& find(const std::string& name);

 private:
  device& device_;
  const std::vector<spirv_kernel> declared_;
  ze_module_handle_t handle_ = nullptr;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<kernel>> kernels_;
};

}  // namespace outback::level_zero
