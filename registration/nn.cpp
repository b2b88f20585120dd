// outback::to_backend of modules and packed sequences.
#include "outback/nn.h"

#include <ATen/core/Tensor.h>
#include <c10/core/GradMode.h>
#include <c10/util/Exception.h>

#include <utility>
#include <vector>

#include "backend_template/core/device.h"
#include "registration/in_place.h"

namespace outback {
namespace {

using torch::nn::utils::rnn::PackedSequence;

// What the module holds, each once, gradients too.
std::vector<at::Tensor> tensors_of(const torch::nn::Module& module) {
  std::vector<at::Tensor> found;
  for (const at::Tensor& parameter : module.parameters()) {
    found.push_back(parameter);
    if (parameter.grad().defined()) found.push_back(parameter.grad());
  }
  for (const at::Tensor& buffer : module.buffers()) found.push_back(buffer);
  return found;
}

at::Tensor moved_if_defined(const at::Tensor& tensor, c10::DeviceIndex index, bool non_blocking) {
  return tensor.defined() ? to_backend(tensor, index, non_blocking) : tensor;
}

}  // namespace

void to_backend(torch::nn::Module& module, std::optional<c10::DeviceIndex> index,
                bool non_blocking) {
  const c10::DeviceIndex target =
      index.has_value() ? normalize_device(int64_t{*index}) : core::current_device();
  const c10::NoGradGuard no_grad;
  const std::vector<at::Tensor> tensors = tensors_of(module);
  std::vector<at::Tensor> moved;
  moved.reserve(tensors.size());
  for (const at::Tensor& tensor : tensors) {
    moved.push_back(moved_if_defined(tensor.detach(), target, non_blocking));
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].device() != moved[i].device()) registration::become(tensors[i], moved[i]);
  }
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
