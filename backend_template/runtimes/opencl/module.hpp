// A module of the OpenCL runtime: a built program (cl_program), and its kernels.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backend_template/runtimes/opencl/device.hpp"
#include "backend_template/runtimes/spirv_kernels.hpp"
#include "outback/runtime.h"

namespace outback::opencl {

/// A kernel of a module. May be used from any thread. Functions throw like `check` (result.hpp).
class kernel {
 public:
  /// Takes over `handle`. `parameters` is empty if only the driver can tell.
  kernel(device& of, cl_kernel handle, const std::string& name,
         std::vector<spirv_parameter> parameters);
  ~kernel();
  kernel(const kernel&) = delete;
  kernel& operator=(const kernel&) = delete;

  int32_t device_index() const noexcept { return device_.index(); }
  const outback_kernel_info& info() const noexcept { return info_; }

  /// Enqueues a launch. Throws outback::invalid_argument for arguments, items or local memory that
  /// do not fit the kernel or the device.
  void launch(command_queue& q, const outback_launch& launch);

 private:
  void check_arguments(const outback_launch& launch) const;
  // The caller holds mutex_.
  void set_arguments(const outback_launch& launch);
  void check_parameter(uint32_t number, const outback_launch& launch) const;
  std::string who() const { return std::string("the kernel ") + name_; }

  device& device_;
  const cl_kernel handle_;
  const char* const name_;  // lives until the process ends
  cl_uint parameter_count_ = 0;
  std::vector<spirv_parameter> parameters_;  // empty if nobody tells
  outback_kernel_info info_ = {};
  uint64_t local_limit_ = 0;  // bytes of local memory that a launch may ask for
  // Arguments are a part of the driver's kernel, so setting them and launching belong together.
  std::mutex mutex_;
};

/// May be used from any thread; the destructor must run after every other call has returned.
class module {
 public:
  /// Builds the program. Throws outback::unsupported for a format that the device does not take,
  /// and outback::invalid_argument, with the driver's log, for bytes that the driver refuses.
  module(device& of, outback_format format, const void* bytes, std::size_t size);
  ~module();
  module(const module&) = delete;
  module& operator=(const module&) = delete;

  int32_t device_index() const noexcept { return device_.index(); }
  /// Returns the kernel, which lives as long as the module. Throws outback::invalid_argument if
  /// there is none of this name.
  kernel& find(const std::string& name);

 private:
  void build();

  device& device_;
  std::vector<spirv_kernel> listed_;  // empty if the module is text
  cl_program program_ = nullptr;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<kernel>> kernels_;
};

}  // namespace outback::opencl
