// A module of the host runtime, and its kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backend_template/runtimes/host/shared_object.hpp"
#include "outback/host_kernel.h"
#include "outback/runtime.h"

namespace outback::host {

/// A launch that has been checked, with copies of everything that its caller may free. Runs on any
/// thread, as often as it is called.
class kernel_work {
 public:
  /// `values` has the address of each argument in the launch, or of what stands for it.
  kernel_work(std::shared_ptr<const shared_object> code, const outback_host_kernel& kernel,
              const char* name, const outback_launch& launch,
              const std::vector<const void*>& values);
  /// Runs all groups. If the kernel faults, leaves the failure with the stream whose work the
  /// calling thread runs.
  void run() const;

 private:
  const std::shared_ptr<const shared_object> code_;  // keeps `kernel_` alive
  const outback_host_kernel& kernel_;
  const char* const name_;
  outback_host_groups groups_ = {};
  std::unique_ptr<std::byte[]> bytes_;  // of all arguments
  std::vector<void*> arguments_;
};

/// A kernel of a module. Never changes.
struct kernel {
  int32_t device;
  std::shared_ptr<const shared_object> code;
  const outback_host_kernel* host;  // in `code`
  const char* name;                 // lives until the process ends

  /// Throws outback::invalid_argument for arguments, items or local memory that do not fit the
  /// kernel or the device.
  void check(const outback_launch& launch) const;
};

/// May be used from any thread; the destructor must run after every other call has returned.
class module {
 public:
  /// Throws the same as the constructor of shared_object.
  module(int32_t device, const void* bytes, std::size_t size);

  int32_t device() const noexcept { return device_; }
  /// Returns the kernel, which lives as long as the module. Throws outback::invalid_argument if
  /// there is none of this name.
  const kernel& find(const std::string& name);

 private:
  const int32_t device_;
  const std::shared_ptr<const shared_object> code_;
  std::mutex mutex_;
  std::map<std::string, kernel> kernels_;
};

}  // namespace outback::host
