// The device type whose kernels run on the device's memory: the CPU (cpu_target.h), or the device's
// twin (twin_target.h). kernel_target has all differences between the two that the engine needs.
#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/Allocator.h>
#include <c10/core/Device.h>
#include <c10/core/DispatchKeySet.h>

#include <cstddef>

#include "backend_template/core/twin/twin.h"

namespace outback::ops {

/// A constant that lives until the process ends. In all members, `index` is the index of a device
/// of this backend.
struct kernel_target {
  c10::DeviceType type;
  c10::BackendComponent backend;  // its bit in the keys of a tensor
  c10::DispatchKey autocast;      // must not run: this backend's autocast has run already

  /// Returns the allocator from which kernels take new memory, also for an alias that grows.
  c10::Allocator* (*allocator)();

  /// Returns true if the target's kernels can address the memory of the device. If not, a CPU
  /// kernel runs over copies; a twin's kernel cannot run then.
  bool (*reaches)(c10::DeviceIndex index);

  /// Waits until kernels may use the memory of the device. Throws what the wait throws.
  void (*wait)(c10::DeviceIndex index);

  /// Returns `memory`, `size` bytes that a kernel allocated, as memory of `device`, a device of
  /// this backend: the same memory, or a copy.
  c10::DataPtr (*adopt)(c10::DataPtr&& memory, std::size_t size, c10::Device device);

  /// Returns the generator that a kernel gets in place of `ours`. If `ours` is undefined, it means
  /// the device's default generator.
  at::Generator (*generator)(const at::Generator& ours, c10::DeviceIndex index);

  /// Returns the target's device whose kernels serve the device: the CPU, or the twin.
  c10::Device device(c10::DeviceIndex index) const {
    return type == c10::DeviceType::CPU ? c10::Device(type)
                                        : core::twin_of(index).value_or(c10::Device(type, index));
  }

  /// Returns the dispatch key of the target's kernels for `layout`, which is DispatchKey::Dense,
  /// Sparse, SparseCsr, Quantized or NestedTensor.
  constexpr c10::DispatchKey key(c10::DispatchKey layout = c10::DispatchKey::Dense) const {
    return c10::toRuntimePerBackendFunctionalityKey(layout, backend);
  }

  /// Returns true if the target has a kernel of the operator for `layout`, or torch composes the
  /// operator for it. Returns false if torch composes the operator of its out= variant, as for
  /// structured operators, and the target has no kernel for that variant. (narrow_copy looks like
  /// such an operator, but is composed of a view and a copy.)
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

  /// The dispatch key set of the target's kernels for dense tensors.
  c10::DispatchKeySet keys = c10::DispatchKeySet(key());
  /// The keys that must not run again for operators that a kernel calls.
  c10::DispatchKeySet keys_above =
      c10::autograd_dispatch_keyset_with_ADInplaceOrView | c10::DispatchKeySet(autocast);
};

}  // namespace outback::ops
