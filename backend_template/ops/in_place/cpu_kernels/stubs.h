// torch's dispatch stubs (ATen/native/DispatchStub.h): tables of kernels by device type, which the
// structured kernels call. Here they get an entry for PrivateUse1.
#pragma once

#include <ATen/native/DispatchStub.h>

#include <type_traits>
#include <utility>

namespace outback::ops {

/// `through_cpu<add_stub>::run` is an entry for the stub that calls the stub's entry for the CPU.
template <auto& stub, class Function = typename std::remove_reference_t<decltype(stub)>::FnPtr>
struct through_cpu;

template <auto& stub, class Result, class... Arguments>
struct through_cpu<stub, Result (*)(Arguments...)> {
  static Result run(Arguments... arguments) {
    return stub(c10::kCPU, std::forward<Arguments>(arguments)...);
  }
};

/// Makes `function` the stub's entry for PrivateUse1, unless a vendor's library has set one. Not
/// thread-safe: during registration only.
template <auto& stub, class Function = typename std::remove_reference_t<decltype(stub)>::FnPtr>
void fill_stub(Function function) {
  if (!stub.is_device_supported(c10::kPrivateUse1)) stub.set_privateuse1_dispatch_ptr(function);
}

/// The same with the CPU's entry, for kernels that use nothing but the tensors' pointers.
template <auto& stub>
void fill_stub() {
  fill_stub<stub>(&through_cpu<stub>::run);
}

}  // namespace outback::ops
