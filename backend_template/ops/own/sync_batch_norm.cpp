// The operators of torch.nn.SyncBatchNorm: the statistics of one process's part of the batch, and
// what is done with those of all. torch has kernels of them for accelerators alone
// (aten/src/ATen/native/cuda/Normalization.cuh, whose formulas these are). Here they are composed
// of operators of the device, so that a vendor's kernels for those serve them. A twin has such
// kernels.
//
// Statistics have one number for each channel, which is dimension 1 of the input. They are float32
// for inputs of 16 bits.
#include <ATen/OpMathType.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/batch_norm_backward_elemt_ops.h>
#include <ATen/ops/batch_norm_backward_reduce_ops.h>
#include <ATen/ops/batch_norm_elemt_ops.h>
#include <ATen/ops/batch_norm_gather_stats_ops.h>
#include <ATen/ops/batch_norm_gather_stats_with_counts_ops.h>
#include <ATen/ops/batch_norm_stats_ops.h>
#include <ATen/ops/full.h>
#include <ATen/ops/var_mean.h>
#include <c10/util/Exception.h>

#include <optional>
#include <tuple>
#include <vector>

#include "backend_template/ops/in_place/twin_first.h"
#include "backend_template/ops/registrar.h"
#include "backend_template/ops/registrations.h"

namespace outback::ops {
namespace {

using optional_tensor = std::optional<at::Tensor>;
using statistics = std::tuple<at::Tensor, at::Tensor>;  // the mean, and 1 / sqrt(variance + eps)
using reduced_gradients = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor>;

at::Tensor in_precision(const at::Tensor& input) {
  return input.to(at::toOpMathType(input.scalar_type()));
}

std::vector<int64_t> all_but_channels(const at::Tensor& input) {
  TORCH_CHECK(input.dim() >= 2, "SyncBatchNorm: expected an input of 2 dimensions or more, got ",
              input.dim());
  std::vector<int64_t> dims{0};
  for (int64_t dim = 2; dim < input.dim(); ++dim) dims.push_back(dim);
  return dims;
}

// `values`, one for each channel, for a calculation with `input`.
at::Tensor along_channels(const at::Tensor& values, const at::Tensor& input) {
  std::vector<int64_t> sizes(static_cast<size_t>(input.dim()), 1);
  sizes.at(1) = -1;
  return values.reshape(sizes);
}

at::Tensor scale_of(const at::Tensor& invstd, const optional_tensor& weight) {
  return weight && weight->defined() ? invstd * *weight : invstd;
}

statistics of_part(const at::Tensor& input, double eps) {
  const std::vector<int64_t> dims = all_but_channels(input);
  auto [var, mean] = at::var_mean(in_precision(input), at::IntArrayRef(dims),
                                  /*correction=*/at::Scalar(0));
  return {std::move(mean), (var + eps).rsqrt()};
}

void update(const optional_tensor& running, const at::Tensor& value, double momentum) {
  if (running && running->defined()) running->mul_(1 - momentum).add_(value, momentum);
}

// `means` and `invstds` have a row for each process, and `counts` the number of elements of a
// channel that it has. The variance of the whole is that within the parts and that of their means.
statistics of_whole(const at::Tensor& /*input*/, const at::Tensor& means, const at::Tensor& invstds,
                    const optional_tensor& running_mean, const optional_tensor& running_var,
                    double momentum, double eps, const at::Tensor& counts) {
  const at::Tensor rows = counts.to(means.scalar_type()).unsqueeze(1), count = rows.sum();
  at::Tensor mean = (means * rows).sum(0) / count;
  const at::Tensor within = invstds.pow(-2) - eps, between = (means - mean).square();
  const at::Tensor squares = ((within + between) * rows).sum(0);
  update(running_mean, mean, momentum);
  update(running_var, squares / (count - 1), momentum);
  return {std::move(mean), (squares / count + eps).rsqrt()};
}

statistics of_equal_parts(const at::Tensor& input, const at::Tensor& means,
                          const at::Tensor& invstds, const optional_tensor& running_mean,
                          const optional_tensor& running_var, double momentum, double eps,
                          int64_t count) {
  const at::Tensor counts = at::full({means.size(0)}, count, means.options());
  return of_whole(input, means, invstds, running_mean, running_var, momentum, eps, counts);
}

at::Tensor normalized(const at::Tensor& input, const optional_tensor& weight,
                      const optional_tensor& bias, const at::Tensor& mean, const at::Tensor& invstd,
                      double /*eps*/) {
  at::Tensor result = (in_precision(input) - along_channels(mean, input)) *
                      along_channels(scale_of(invstd, weight), input);
  if (bias && bias->defined()) result.add_(along_channels(*bias, input));
  return result.to(input.scalar_type());
}

at::Tensor& normalized_out(const at::Tensor& input, const optional_tensor& weight,
                           const optional_tensor& bias, const at::Tensor& mean,
                           const at::Tensor& invstd, double eps, at::Tensor& out) {
  out.resize_(input.sizes());
  return out.copy_(normalized(input, weight, bias, mean, invstd, eps));
}

// The sums of the gradient, and of its product with what the mean is taken from; the gradients of
// weight and bias.
reduced_gradients reduced(const at::Tensor& gradient, const at::Tensor& input,
                          const at::Tensor& mean, const at::Tensor& invstd,
                          const optional_tensor& weight, bool for_input, bool for_weight,
                          bool for_bias) {
  const std::vector<int64_t> dims = all_but_channels(input);
  const at::Tensor dy = in_precision(gradient);
  const at::Tensor centred = in_precision(input) - along_channels(mean, input);
  at::Tensor sum = dy.sum(dims), product = (dy * centred).sum(dims), of_weight, of_bias;
  const at::ScalarType dtype =
      weight && weight->defined() ? weight->scalar_type() : mean.scalar_type();
  if (for_weight) of_weight = (product * invstd).to(dtype);
  if (for_bias) of_bias = sum.to(dtype);
  if (!for_input) return {at::Tensor(), at::Tensor(), std::move(of_weight), std::move(of_bias)};
  return {std::move(sum), std::move(product), std::move(of_weight), std::move(of_bias)};
}

// With the sums over all processes, and the number of elements of a channel in each of them.
at::Tensor gradient_of_input(const at::Tensor& gradient, const at::Tensor& input,
                             const at::Tensor& mean, const at::Tensor& invstd,
                             const optional_tensor& weight, const at::Tensor& sum,
                             const at::Tensor& product, const at::Tensor& counts) {
  const at::Tensor count = counts.sum().to(mean.scalar_type());
  const at::Tensor slope = invstd.square() * product / count;
  const at::Tensor centred = in_precision(input) - along_channels(mean, input);
  const at::Tensor result = in_precision(gradient) - along_channels(sum / count, input) -
                            centred * along_channels(slope, input);
  return (result * along_channels(scale_of(invstd, weight), input)).to(input.scalar_type());
}

}  // namespace

void register_sync_batch_norm(registrar& to) {
  namespace ops = at::_ops;
  add_twin_first<ops::batch_norm_stats, &of_part>(to);
  add_twin_first<ops::batch_norm_gather_stats, &of_equal_parts>(to);
  add_twin_first<ops::batch_norm_gather_stats_with_counts, &of_whole>(to);
  add_twin_first<ops::batch_norm_elemt, &normalized>(to);
  add_twin_first<ops::batch_norm_elemt_out, &normalized_out>(to);
  add_twin_first<ops::batch_norm_backward_reduce, &reduced>(to);
  add_twin_first<ops::batch_norm_backward_elemt, &gradient_of_input>(to);
}

}  // namespace outback::ops
