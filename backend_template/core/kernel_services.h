// The backend's services for native kernels. Only backend_template/kernels includes this header
// from outside core; a vendor's kernels use outback/kernels instead.
//
// A kernel library that is loaded later has no copy of the backend's state, and does not link
// against the backend. It finds this interface through ATen: the backend's PrivateUse1 hooks
// implement it (interfaces/hooks.cpp), and kernels/services.cpp reaches it by dynamic_cast from
// at::detail::getPrivateUse1Hooks().
#pragma once

#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/Allocator.h>
#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>
#include <c10/core/Stream.h>

#include <cstdint>
#include <span>
#include <string>

#include "outback/packed_module.h"
#include "outback/runtime.h"

namespace outback::core {

// The number is part of the type's name, by which dynamic_cast in another library recognizes the
// type. Raise the number whenever a member changes. Then a kernel library that was compiled with
// another version of Outback finds no services and reports an error, instead of calling through a
// wrong vtable.
inline namespace kernel_abi_3 {

/// The functions of core that native kernels use. Each member does what the function of the same
/// name does, with the same errors and the same thread safety; the headers named below document
/// them. The object lives until the process ends.
class kernel_services {
 public:
  // ---- runtime/runtime.h
  virtual const outback_runtime& runtime() const noexcept = 0;
  virtual const std::string& backend_name() const noexcept = 0;
  /// Takes no device and no size, so its error texts name only the slot.
  virtual void check(outback_status status, const char* slot) const = 0;

  // ---- streams/stream.h
  virtual c10::Stream current_stream(c10::DeviceIndex device) const = 0;
  virtual outback_stream handle_of(const c10::Stream& stream) const = 0;
  virtual void synchronize_stream(const c10::Stream& stream) const = 0;
  virtual void mark_busy(const c10::Stream& stream) const = 0;

  // ---- streams/native.h
  virtual void* native_stream(const c10::Stream& stream) const = 0;

  // ---- devices/device.h
  virtual c10::DeviceIndex exchange_device(c10::DeviceIndex device) const = 0;
  virtual void set_device_unchecked(c10::DeviceIndex device) const noexcept = 0;

  // ---- devices/visible_devices.h
  virtual int32_t runtime_device(c10::DeviceIndex device) const = 0;

  // ---- devices/dtypes.h
  virtual void check_dtype(c10::ScalarType dtype) const = 0;

  // ---- kernels/declined_calls.h
  virtual const c10::KernelFunction* kernel_after_vendors(const c10::OperatorHandle& op) const = 0;

  // ---- kernels/packed_list.h
  virtual std::span<const packed_module> packed_modules() const noexcept = 0;

  // ---- memory/exit.h
  virtual void give_back_at_exit(void (*give_back)() noexcept) const = 0;

  // ---- memory/device_allocator.h
  virtual c10::Allocator& device_allocator() const = 0;

 protected:
  // Protected, since no code may delete the object through this type.
  ~kernel_services() = default;
};

}  // namespace kernel_abi_3
}  // namespace outback::core
