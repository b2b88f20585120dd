// torch's dispatch stubs (ATen/native/DispatchStub.h): tables of kernels by device type, which the
// structured kernels call. Here they get an entry for PrivateUse1.
#pragma once

#include <ATen/TensorIterator.h>
#include <ATen/core/TensorBase.h>
#include <ATen/native/DispatchStub.h>

#include <type_traits>
#include <utility>

#include "backend_template/core/streams/stream.h"

namespace outback::ops {

inline c10::DeviceIndex device_index(const at::TensorIteratorBase& elements) {
  return elements.device().index();
}

inline c10::DeviceIndex device_index(const at::TensorBase& tensor) {
  return tensor.device().index();
}

/// `through_cpu<add_stub>::run` is an entry for the stub that calls the stub's entry for the CPU.
/// First it waits for the device's current stream, where the function that calls the stub may have
/// left work by an operator: a copy to another dtype, or of a larger out='s old bytes.
template <auto& stub, class Function = typename std::remove_reference_t<decltype(stub)>::FnPtr>
struct through_cpu;

template <auto& stub, class Result, class First, class... Others>
struct through_cpu<stub, Result (*)(First, Others...)> {
  static Result run(First first, Others... others) {
    core::drain(device_index(first));
    return stub(c10::kCPU, std::forward<First>(first), std::forward<Others>(others)...);
  }
};

/// Makes `function` the stub's entry for PrivateUse1, unless a vendor's library has set one. Not
/// thread-safe: during registration only.
template <auto& stub, class Function = typename std::remove_reference_t<decltype(stub)>::FnPtr>
void fill_stub(Function function) {
  if (!stub.is_device_supported(c10::kPrivateUse1)) stub.set_privateuse1_dispatch_ptr(function);
}

/// The same with the CPU's entries, for kernels that use nothing but the tensors' pointers.
template <auto&... stubs>
void fill_stubs() {
  (fill_stub<stubs>(&through_cpu<stubs>::run), ...);
}

}  // namespace outback::ops
