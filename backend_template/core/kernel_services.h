// What native kernels ask of the backend. A library of kernels that is loaded later has no copy of
// the backend's state; it finds this through ATen, whose hooks implement it.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>
#include <c10/core/Stream.h>

#include <string>

#include "outback/runtime.h"

namespace outback::core {

// Part of the type's name, by which another library knows it: raised when a member changes, so that
// libraries of two Outbacks do not take each other's for their own.
inline namespace kernel_abi_1 {

/// Every member is that of the same name in runtime/runtime.h, devices/device.h, streams/stream.h,
/// devices/dtypes.h and memory/device_allocator.h.
class kernel_services {
 public:
  virtual const outback_runtime& runtime() const noexcept = 0;
  virtual const std::string& backend_name() const noexcept = 0;
  virtual void check(outback_status status, const char* slot) const = 0;

  virtual c10::Stream current_stream(c10::DeviceIndex device) const = 0;
  virtual outback_stream handle_of(const c10::Stream& stream) const = 0;
  virtual void synchronize_stream(const c10::Stream& stream) const = 0;
  virtual void mark_busy(const c10::Stream& stream) const = 0;

  virtual c10::DeviceIndex exchange_device(c10::DeviceIndex device) const = 0;
  virtual void set_device_unchecked(c10::DeviceIndex device) const noexcept = 0;

  virtual void check_dtype(c10::ScalarType dtype) const = 0;
  virtual c10::Allocator& device_allocator() const = 0;

 protected:
  ~kernel_services() = default;
};

}  // namespace kernel_abi_1
}  // namespace outback::core
