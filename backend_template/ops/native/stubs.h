// torch's dispatch stubs: tables of kernels by device type, with an entry for this one.
#pragma once

#include <ATen/native/DispatchStub.h>

#include <type_traits>
#include <utility>

namespace outback::ops {

/// An entry for a dispatch stub that runs the CPU's.
template <auto& stub, class Function = typename std::remove_reference_t<decltype(stub)>::FnPtr>
struct through_cpu;

template <auto& stub, class... Arguments>
struct through_cpu<stub, void (*)(Arguments...)> {
  static void run(Arguments... arguments) {
    stub(c10::kCPU, std::forward<Arguments>(arguments)...);
  }
};

/// Fills our entry, unless the vendor has done so. For kernels that look at nothing but pointers.
template <auto& stub>
void fill_stub() {
  if (!stub.is_device_supported(c10::kPrivateUse1)) {
    stub.set_privateuse1_dispatch_ptr(&through_cpu<stub>::run);
  }
}

}  // namespace outback::ops
