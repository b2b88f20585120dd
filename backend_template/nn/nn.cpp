// outback::to_backend of modules and packed sequences (outback/nn.h).
#include "outback/nn.h"

#include <ATen/core/Tensor.h>
#include <c10/core/GradMode.h>
#include <c10/util/Exception.h>

#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/devices/device_index.h"
#include "backend_template/core/devices/dtypes.h"

namespace outback {
namespace {

using torch::nn::utils::rnn::PackedSequence;

// A tensor of the module, and the copy on the device that it is to hold.
struct moved_tensor {
  at::Tensor tensor;
  at::Tensor moved;
};

void check_dtype_of(const std::string& name, const at::Tensor& tensor) {
  TORCH_CHECK_TYPE(core::supports(tensor.scalar_type()), "cannot move the module: \"", name,
                   "\" is torch.", c10::getDtypeNames(tensor.scalar_type()).first,
                   ", a dtype that ", backend_name(),
                   " does not support; convert the module first, for example with to(at::kFloat)");
}

void check_dtypes(const torch::nn::Module& module) {
  if (core::supports_all()) return;
  for (const auto& item : module.named_parameters()) check_dtype_of(item.key(), item.value());
  for (const auto& item : module.named_buffers()) check_dtype_of(item.key(), item.value());
}

// Makes all copies when it is constructed and changes the module in `finish`. So a copy that fails
// leaves the module as it was. A tied parameter is in the module's lists several times and is
// copied once.
class module_move {
 public:
  module_move(const torch::nn::Module& module, c10::DeviceIndex index, bool non_blocking)
      : index_(index), non_blocking_(non_blocking) {
    for (const at::Tensor& parameter : module.parameters()) add(parameter);
    for (const at::Tensor& buffer : module.buffers()) add(buffer);
  }

  void finish() const {
    for (const moved_tensor& m : tensors_) m.tensor.set_data(m.moved);
    // Gradients after their tensors: a gradient must be on the device of its tensor.
    for (const moved_tensor& m : gradients_) m.tensor.mutable_grad() = m.moved;
  }

 private:
  void add(const at::Tensor& tensor) {
    if (!seen_.insert(tensor.unsafeGetTensorImpl()).second) return;
    const at::Tensor moved = copy_of(tensor);
    if (moved.device() != tensor.device()) tensors_.push_back({tensor, moved});
    if (!tensor.grad().defined()) return;
    const at::Tensor gradient = copy_of(tensor.grad());
    if (gradient.device() != tensor.grad().device()) gradients_.push_back({tensor, gradient});
  }

  at::Tensor copy_of(const at::Tensor& tensor) const {
    return to_backend(tensor.detach(), index_, non_blocking_);
  }

  c10::DeviceIndex index_;
  bool non_blocking_;
  std::unordered_set<const c10::TensorImpl*> seen_;
  std::vector<moved_tensor> tensors_;
  std::vector<moved_tensor> gradients_;  // a tensor, and the copy of its gradient
};

at::Tensor moved_if_defined(const at::Tensor& tensor, c10::DeviceIndex index, bool non_blocking) {
  return tensor.defined() ? to_backend(tensor, index, non_blocking) : tensor;
}

}  // namespace

void to_backend(torch::nn::Module& module, std::optional<c10::DeviceIndex> index,
                bool non_blocking) {
  const c10::DeviceIndex target = core::index_or_current(index);
  check_dtypes(module);
  const c10::NoGradGuard no_grad;
  module_move(module, target, non_blocking).finish();
}

bool is_backend(const PackedSequence& sequence) noexcept {
  return is_backend(sequence.data());
}

PackedSequence to_backend(const PackedSequence& sequence, std::optional<c10::DeviceIndex> index,
                          bool non_blocking) {
  at::Tensor data = to_backend(sequence.data(), index, non_blocking);
  const c10::DeviceIndex target = data.device().index();
  at::Tensor sorted = moved_if_defined(sequence.sorted_indices(), target, non_blocking);
  at::Tensor unsorted = moved_if_defined(sequence.unsorted_indices(), target, non_blocking);
  return PackedSequence(std::move(data), sequence.batch_sizes(), std::move(sorted),
                        std::move(unsorted));
}

}  // namespace outback
