// The device type whose kernels run on the device's memory: the CPU (cpu_target.h), or the device's
// twin (twin_target.h). Whatever the engine has to know of either is a member of kernel_target.
#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/Allocator.h>
#include <c10/core/Device.h>
#include <c10/core/DispatchKeySet.h>

#include <cstddef>

#include "backend_template/core/twin/twin.h"

namespace outback::ops {

/// A constant that lives until the process ends. `index` is the index of one of our devices.
struct kernel_target {
  c10::DeviceType type;
  c10::BackendComponent backend;  // its bit in the keys of a tensor
  c10::DispatchKey autocast;      // its autocast; ours has had its turn when a kernel runs

  /// Returns the allocator that kernels take new memory from, also for an alias that grows.
  c10::Allocator* (*allocator)();

  /// Returns true if kernels can use the memory of our device as it is. If not, a kernel of the CPU
  /// runs over copies; there is no such way to a twin.
  bool (*reaches)(c10::DeviceIndex index);

  /// Waits until kernels may use the memory of our device. Throws what the wait throws.
  void (*wait)(c10::DeviceIndex index);

  /// Returns `memory`, `size` bytes that a kernel allocated, as memory of our `device`: the same
  /// memory, or a copy.
  c10::DataPtr (*adopt)(c10::DataPtr&& memory, std::size_t size, c10::Device device);

  /// Returns the generator that a kernel gets in place of `ours`, which may be undefined: then the
  /// device's default generator is meant.
  at::Generator (*generator)(const at::Generator& ours, c10::DeviceIndex index);

  /// The target's device whose kernels serve our device: the CPU, or the twin.
  c10::Device device(c10::DeviceIndex index) const {
    return type == c10::DeviceType::CPU ? c10::Device(type)
                                        : core::twin_of(index).value_or(c10::Device(type, index));
  }

  /// The dispatch key of kernels for a layout, which is DispatchKey::Dense, Sparse, SparseCsr,
  /// Quantized or NestedTensor.
  constexpr c10::DispatchKey key(c10::DispatchKey layout = c10::DispatchKey::Dense) const {
    return c10::toRuntimePerBackendFunctionalityKey(layout, backend);
  }

  /// True if the target has a kernel of the operator for a layout, or torch composes it there. Not
  /// if it is composed of its own out= variant and that has none, as structured operators are.
  /// narrow_copy looks like these, and is composed of a view and a copy.
  bool has_kernel_of(const c10::OperatorHandle& op,
                     c10::DispatchKey layout = c10::DispatchKey::Dense) const {
    if (op.hasKernelForDispatchKey(key(layout))) return true;
    if (!op.hasComputedKernelForDispatchKey(key(layout))) return false;
    if (!op.hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutogradNonFunctional) ||
        op.operator_name().name == "aten::narrow_copy")
      return true;
    const auto out = c10::Dispatcher::singleton().findSchema({op.operator_name().name, "out"});
    return out && out->hasComputedKernelForDispatchKey(key(layout));
  }

  /// Its kernels for dense tensors, as a set.
  c10::DispatchKeySet keys = c10::DispatchKeySet(key());
  /// What must not run again for the operators that a kernel calls.
  c10::DispatchKeySet keys_above =
      c10::autograd_dispatch_keyset_with_ADInplaceOrView | c10::DispatchKeySet(autocast);
};

}  // namespace outback::ops
