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

at::Tensor moved_if_defined(const at::Tensor& tensor, c10::DeviceIndex index, bool non_blocking) {
  return tensor.defined() ? to_backend(tensor, index, non_blocking) : tensor;
}

}  // namespace

void to_backend(torch::nn::Module& module, std::optional<c10::DeviceIndex> index,
                bool non_blocking) {
  const c10::DeviceIndex target = core::index_or_current(index);
  check_dtypes(module);
  const c10::NoGradGuard no_grad;
  // All copies are made before the module changes, so a copy that fails leaves it as it was.
  std::vector<moved_tensor> tensors, gradients;  // with a gradient's copy goes the gradient's owner
  const auto move = [&](const at::Tensor& owner, const at::Tensor& tensor, auto& moved) {
    at::Tensor copy = to_backend(tensor.detach(), target, non_blocking);
    if (copy.device() != tensor.device()) moved.push_back({owner, std::move(copy)});
  };
  std::unordered_set<const c10::TensorImpl*> seen;
  const auto move_all = [&](const std::vector<at::Tensor>& all) {
    for (const at::Tensor& tensor : all) {
      // A tied parameter is in the module's lists several times and is copied once.
      if (!seen.insert(tensor.unsafeGetTensorImpl()).second) continue;
      move(tensor, tensor, tensors);
      if (tensor.grad().defined()) move(tensor, tensor.grad(), gradients);
    }
  };
  move_all(module.parameters());
  move_all(module.buffers());
  for (const moved_tensor& m : tensors) m.tensor.set_data(m.moved);
  // Gradients after their tensors: a gradient must be on the device of its tensor.
  for (const moved_tensor& m : gradients) m.tensor.mutable_grad() = m.moved;
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
