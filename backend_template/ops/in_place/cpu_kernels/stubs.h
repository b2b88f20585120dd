// torch's dispatch stubs: tables of kernels by device type, with an entry for this one.
#pragma once

#include <ATen/native/DispatchStub.h>

#include <type_traits>
#include <utility>

namespace outback::ops {

/// An entry for a dispatch stub that runs the CPU's.
template <auto& stub, class Function = typename std::remove_reference_t<decltype(stub)>::FnPtr>
struct through_cpu;

template <auto& stub, class Result, class... Arguments>
struct through_cpu<stub, Result (*)(Arguments...)> {
  static Result run(Arguments... arguments) {
    return stub(c10::kCPU, std::forward<Arguments>(arguments)...);
  }
};

/// Makes `function` our entry, unless the vendor has one.
template <auto& stub, class Function = typename std::remove_reference_t<decltype(stub)>::FnPtr>
void fill_stub(Function function) {
  if (!stub.is_device_supported(c10::kPrivateUse1)) stub.set_privateuse1_dispatch_ptr(function);
}

/// The same with the CPU's kernel. For kernels that look at nothing but pointers.
template <auto& stub>
void fill_stub() {
  fill_stub<stub>(&through_cpu<stub>::run);
}

}  // namespace outback::ops
