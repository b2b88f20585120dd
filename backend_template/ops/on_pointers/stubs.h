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

/// `through_cpu<add_stub>::run` is an entry for the stub that calls the stub's CPU entry. First it
/// waits for the device's current stream, since the function that calls the stub may have called an
/// operator that left work there: a copy to another dtype, or a copy of the old bytes of a larger
/// out=.
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

/// Fills the stubs with `through_cpu`, for CPU kernels that use only the tensors' pointers.
template <auto&... stubs>
void fill_stubs() {
  (fill_stub<stubs>(&through_cpu<stubs>::run), ...);
}

}  // namespace outback::ops
