#include "backend_template/ops/in_place/named_device.h"

#include "backend_template/core/devices/device.h"
#include "backend_template/ops/in_place/stack_tensors.h"
#include "backend_template/ops/tensors/tensor_fields.h"

namespace outback::ops {

std::optional<c10::Device> device_named_by(const c10::OperatorHandle& op,
                                           const torch::jit::Stack& stack) {
  std::optional<c10::Device> found;
  const auto note = [&found](c10::Device device) {
    if (found || device.type() != core::device_type) return;
    found = c10::Device(core::device_type, core::resolve_index(device.index()));
  };
  for (size_t i = stack.size() - op.schema().arguments().size(); !found && i < stack.size(); ++i) {
    const c10::IValue& value = stack[i];
    for_each_tensor(value, [&note](const at::Tensor& tensor) {
      if (tensor.defined()) note(tensor.device());
    });
    if (value.isDevice()) note(value.toDevice());
    if (value.isStorage() && value.toStorage()) note(value.toStorage().device());
  }
  return found;
}

}  // namespace outback::ops
