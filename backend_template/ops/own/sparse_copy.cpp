// copy_ of sparse tensors between devices. The boxed kernel, which serves it on one device, lends
// the tensors of that device alone.
#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>

#include <memory>
#include <utility>

#include "backend_template/core/devices/device.h"
#include "backend_template/ops/in_place/boxed_kernel.h"
#include "backend_template/ops/registrar.h"
#include "backend_template/ops/registrations.h"

namespace outback::ops {
namespace {

class copy_of_layout final : public c10::OperatorKernel {
 public:
  explicit copy_of_layout(c10::DispatchKey layout) : on_one_device_(boxed_kernel(layout)) {}

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                  torch::jit::Stack* stack) {
    constexpr size_t arguments = 3;  // self, src, non_blocking
    const c10::Device device = torch::jit::peek(*stack, 0, arguments).toTensor().device();
    c10::IValue& source = torch::jit::peek(*stack, 1, arguments);
    if (source.toTensor().device() != device) source = source.toTensor().to(device);
    if (device.type() != core::device_type) return op.callBoxed(stack);
    on_one_device_.callBoxed(op, keys, stack);
  }

 private:
  const c10::KernelFunction on_one_device_;
};

}  // namespace

void register_sparse_copies(registrar& to) {
  const auto op = registrar::find("copy_", "");
  if (!op) return;
  for (const auto layout : {c10::DispatchKey::Sparse, c10::DispatchKey::SparseCsr}) {
    to.add_boxed(
        *op,
        c10::toRuntimePerBackendFunctionalityKey(layout, c10::BackendComponent::PrivateUse1Bit),
        c10::KernelFunction::makeFromBoxedFunctor(std::make_unique<copy_of_layout>(layout)));
  }
}

}  // namespace outback::ops
