// native_layer_norm and native_group_norm, and their derivatives.
#include <ATen/native/layer_norm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <limits>

#include "backend_template/core/streams/stream.h"
#include "backend_template/portable/engine/dense.h"
#include "backend_template/portable/engine/kernel_family.h"
#include "backend_template/portable/engine/operators.h"
#include "backend_template/portable/engine/operators/structured.h"

namespace outback::portable {
namespace {

using three_tensors = std::tuple<at::Tensor, at::Tensor, at::Tensor>;
using optional_tensor = std::optional<at::Tensor>;

constinit kernel_family norm_kernels("norm", "norm");
constinit kernel_family backward_kernels("norm", "norm_backward");
constinit kernel_family layer_part_kernels("norm", "layer_norm_parts");
constinit kernel_family group_part_kernels("norm", "group_norm_parts");
constinit kernel_family parameter_kernels("norm", "norm_parameters");

// `norm_sizes` in norm.k.
struct sizes {
  int64_t rows;
  int64_t n;
  int64_t sets;
  int64_t inner;
  int32_t has_f32_weights;
  int32_t has_f32_statistics;
};

int64_t groups_for_rows(int64_t rows) {
  constexpr int64_t most = 1 << 16;
  return std::min(rows, most);
}

// Returns the dtype of two parameters, either of which may be missing: the input's, or float32
// beside a 16-bit input. Throws no_kernel for other dtypes and devices, which the next provider
// refuses or serves.
c10::ScalarType dtype_beside(const at::Tensor& input, const at::Tensor& one,
                             const at::Tensor& other) {
  const at::Tensor& first = one.defined() ? one : other;
  if (!first.defined()) return input.scalar_type();
  const c10::ScalarType dtype = first.scalar_type();
  bool fit = dtype == input.scalar_type() || (dtype == c10::kFloat && input.itemsize() == 2);
  for (const at::Tensor* each : {&one, &other}) {
    fit &= !each->defined() || (each->scalar_type() == dtype && each->device() == input.device());
  }
  if (!fit) throw no_kernel();
  return dtype;
}

// Writes out, mean and rstd, which are contiguous.
void run_norm(const sizes& of, double eps, const at::Tensor& input, const at::Tensor& weight,
              const at::Tensor& bias, const at::Tensor& out, const at::Tensor& mean,
              const at::Tensor& rstd) {
  const number_type type = type_of_floats(input.scalar_type());
  const c10::DeviceIndex device = input.device().index();
  const kernels::packed_kernel& kernel = norm_kernels.of(device, type);
  const at::Tensor in = dense(input), weights = dense(weight), biases = dense(bias);
  with_computed_type(type, [&](auto zero) {
    launch(core::current_stream(device), kernel, groups_for_rows(of.rows), of,
           static_cast<decltype(zero)>(eps), pointer_to(out), pointer_to(mean), pointer_to(rstd),
           pointer_to(in), pointer_to(weights), pointer_to(biases));
  });
}

// What the backward kernels of both operators read, contiguous.
struct backward_inputs {
  at::Tensor grad;
  at::Tensor in;
  at::Tensor mean;
  at::Tensor rstd;

  backward_inputs(const at::Tensor& grad_out, const at::Tensor& input, const at::Tensor& mean,
                  const at::Tensor& rstd)
      : grad(dense(grad_out)), in(dense(input)), mean(dense(mean)), rstd(dense(rstd)) {}
};

void run_input_gradient(const sizes& of, const backward_inputs& given, const at::Tensor& weight,
                        const at::Tensor& grad_input) {
  const c10::DeviceIndex device = given.in.device().index();
  const at::Tensor weights = dense(weight);
  launch(core::current_stream(device),
         backward_kernels.of(device, type_of_floats(given.in.scalar_type())),
         groups_for_rows(of.rows), of, pointer_to(grad_input), pointer_to(given.grad),
         pointer_to(given.in), pointer_to(given.mean), pointer_to(given.rstd), pointer_to(weights));
}

// The first launch for the gradients of weight and bias.
struct parameter_sums {
  kernel_family& kernels;
  bool item_has_one;       // each item makes a parameter; else each group does
  int64_t values;          // that a parameter sums
  int64_t values_of_part;  // about how many of them a part sums
};

// Fills the gradients of weight and bias, either of which may be undefined.
void run_parameter_gradients(const sizes& of, const backward_inputs& given,
                             const parameter_sums& sums, const at::Tensor& grad_weight,
                             const at::Tensor& grad_bias) {
  if (!grad_weight.defined() && !grad_bias.defined()) return;
  const number_type type = type_of_floats(given.in.scalar_type());
  const c10::DeviceIndex device = given.in.device().index();
  const c10::Stream stream = core::current_stream(device);
  const kernels::packed_kernel& of_parts = sums.kernels.of(device, type);
  const kernels::packed_kernel& kernel = parameter_kernels.of(device, type);
  const int64_t count = (grad_weight.defined() ? grad_weight : grad_bias).numel();
  constexpr int64_t most_parts = 64;
  const int64_t parts = std::clamp<int64_t>(sums.values / sums.values_of_part, 1, most_parts);
  const int64_t in_group = sums.item_has_one ? of_parts.items : 1;
  const int64_t groups = groups_for_rows((count + in_group - 1) / in_group * parts);
  const at::Tensor partial =
      at::empty({parts, 2, count}, given.in.options().dtype(computed_dtype(type)));
  launch(stream, of_parts, groups, of, parts, pointer_to(partial), pointer_to(given.grad),
         pointer_to(given.in), pointer_to(given.mean), pointer_to(given.rstd));
  launch(stream, kernel, groups_for(count, kernel), count, parts, of.has_f32_weights,
         pointer_to(grad_weight), pointer_to(grad_bias), pointer_to(partial));
}

three_tensors layer_norm(const at::Tensor& input, c10::SymIntArrayRef normalized_shape,
                         const optional_tensor& weight_or_none, const optional_tensor& bias_or_none,
                         double eps) {
  const at::Tensor weight = weight_or_none.value_or(at::Tensor());
  const at::Tensor bias = bias_or_none.value_or(at::Tensor());
  const auto shape = C10_AS_INTARRAYREF_SLOW(normalized_shape);
  const auto [rows, n] = at::native::_check_layer_norm_inputs(input, shape, weight, bias);
  type_of_floats(input.scalar_type());
  const c10::ScalarType dtype = dtype_beside(input, weight, bias);

  at::DimVector of_rows(input.sizes().begin(), input.sizes().end() - shape.size());
  of_rows.resize(input.dim(), 1);
  at::Tensor out = at::empty_like(input, at::MemoryFormat::Contiguous);
  at::Tensor mean = at::empty(of_rows, input.options().dtype(dtype));
  at::Tensor rstd = at::empty_like(mean);
  if (rows > 0) {
    const bool is_wide = dtype == c10::kFloat;
    const sizes of{rows, n, 1, 1, int32_t{is_wide}, int32_t{is_wide}};
    run_norm(of, eps, input, weight, bias, out, mean, rstd);
  }
  return {std::move(out), std::move(mean), std::move(rstd)};
}

three_tensors layer_norm_backward(const at::Tensor& grad_out, const at::Tensor& input,
                                  c10::SymIntArrayRef normalized_shape, const at::Tensor& mean,
                                  const at::Tensor& rstd, const optional_tensor& weight_or_none,
                                  const optional_tensor& bias_or_none,
                                  std::array<bool, 3> output_mask) {
  const at::Tensor weight = weight_or_none.value_or(at::Tensor());
  const at::Tensor bias = bias_or_none.value_or(at::Tensor());
  const auto shape = C10_AS_INTARRAYREF_SLOW(normalized_shape);
  const auto [rows, n] = at::native::_check_layer_norm_inputs(input, shape, weight, bias);
  type_of_floats(input.scalar_type());
  const c10::ScalarType of_weights = dtype_beside(input, weight, bias);
  const c10::ScalarType of_statistics = dtype_beside(input, mean, rstd);
  const bool fit = grad_out.scalar_type() == input.scalar_type() &&
                   grad_out.device() == input.device() && grad_out.sizes() == input.sizes() &&
                   mean.numel() == rows && rstd.numel() == rows &&
                   (!output_mask[1] || weight.defined()) && (!output_mask[2] || bias.defined());
  if (!fit) throw no_kernel();

  const sizes of{
      rows, n, 1, 1, int32_t{of_weights == c10::kFloat}, int32_t{of_statistics == c10::kFloat}};
  const backward_inputs given(grad_out, input, mean, rstd);
  three_tensors made;
  auto& [grad_input, grad_weight, grad_bias] = made;
  if (output_mask[0]) grad_input = at::empty_like(input, at::MemoryFormat::Contiguous);
  if (output_mask[1]) grad_weight = at::empty_like(weight, at::MemoryFormat::Contiguous);
  if (output_mask[2]) grad_bias = at::empty_like(bias, at::MemoryFormat::Contiguous);
  if (n == 0) return made;
  if (output_mask[0] && rows > 0) run_input_gradient(of, given, weight, grad_input);
  constexpr int64_t rows_of_part = 64;
  const parameter_sums sums{layer_part_kernels, true, rows, rows_of_part};
  run_parameter_gradients(of, given, sums, grad_weight, grad_bias);
  return made;
}

three_tensors group_norm(const at::Tensor& input, const optional_tensor& weight_or_none,
                         const optional_tensor& bias_or_none, c10::SymInt samples,
                         c10::SymInt channels, c10::SymInt inner, int64_t groups, double eps) {
  const at::Tensor weight = weight_or_none.value_or(at::Tensor());
  const at::Tensor bias = bias_or_none.value_or(at::Tensor());
  const int64_t count = samples.guard_int(__FILE__, __LINE__);
  const int64_t width = channels.guard_int(__FILE__, __LINE__);
  const int64_t places = inner.guard_int(__FILE__, __LINE__);
  const auto is_vector = [&](const at::Tensor& given) {
    return !given.defined() || (given.dim() == 1 && given.numel() == width);
  };
  // PyTorch refuses an input with other strides.
  const bool fit = groups > 0 && width % groups == 0 && is_vector(weight) && is_vector(bias) &&
                   input.numel() == count * width * places &&
                   input.is_contiguous(input.suggest_memory_format());
  if (!fit) throw no_kernel();
  type_of_floats(input.scalar_type());
  const c10::ScalarType dtype = dtype_beside(input, weight, bias);

  const c10::MemoryFormat format = input.suggest_memory_format();
  const auto of_statistics = input.options().dtype(dtype);
  if (input.numel() == 0) {
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    return {at::empty_like(input, format), at::zeros({count, groups}, of_statistics),
            at::full({count, groups}, nan, of_statistics)};
  }
  at::Tensor out = at::empty_like(input, format);
  const dense_output written(out);
  at::Tensor mean = at::empty({count, groups}, of_statistics);
  at::Tensor rstd = at::empty({count, groups}, of_statistics);
  const bool is_wide = dtype == c10::kFloat;
  const sizes of{count * groups, width / groups * places, groups,
                 places,         int32_t{is_wide},        int32_t{is_wide}};
  run_norm(of, eps, input, weight, bias, written.written(), mean, rstd);
  written.finish();
  return {std::move(out), std::move(mean), std::move(rstd)};
}

three_tensors group_norm_backward(const at::Tensor& grad_out, const at::Tensor& input,
                                  const at::Tensor& mean, const at::Tensor& rstd,
                                  const optional_tensor& weight_or_none, c10::SymInt samples,
                                  c10::SymInt channels, c10::SymInt inner, int64_t groups,
                                  std::array<bool, 3> output_mask) {
  const at::Tensor weight = weight_or_none.value_or(at::Tensor());
  const int64_t count = samples.guard_int(__FILE__, __LINE__);
  const int64_t width = channels.guard_int(__FILE__, __LINE__);
  const int64_t places = inner.guard_int(__FILE__, __LINE__);
  type_of_floats(input.scalar_type());
  const c10::ScalarType of_weights = dtype_beside(input, weight, at::Tensor());
  const c10::ScalarType of_statistics = dtype_beside(input, mean, rstd);
  const bool fit = grad_out.scalar_type() == input.scalar_type() &&
                   grad_out.device() == input.device() && grad_out.sizes() == input.sizes() &&
                   groups > 0 && width % groups == 0 && mean.numel() == count * groups &&
                   rstd.numel() == mean.numel() && input.numel() == count * width * places &&
                   (!weight.defined() || weight.numel() == width);
  if (!fit) throw no_kernel();

  const c10::MemoryFormat format = input.suggest_memory_format();
  const auto of_parameters = input.options().dtype(of_weights);
  three_tensors made;
  auto& [grad_input, grad_weight, grad_bias] = made;
  if (input.numel() == 0) {
    if (output_mask[0]) grad_input = at::zeros_like(input, {}, format);
    // Of samples without values, 0 * NaN; of no samples, 0.
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    if (output_mask[1]) grad_weight = at::full({width}, count > 0 ? nan : 0.0, of_parameters);
    if (output_mask[2]) grad_bias = at::zeros({width}, of_parameters);
    return made;
  }
  const sizes of{count * groups,
                 width / groups * places,
                 groups,
                 places,
                 int32_t{of_weights == c10::kFloat},
                 int32_t{of_statistics == c10::kFloat}};
  const backward_inputs given(grad_out, input, mean, rstd);
  if (output_mask[0]) {
    grad_input = at::empty_like(input, format);
    const dense_output written(grad_input);
    run_input_gradient(of, given, weight, written.written());
    written.finish();
  }
  if (output_mask[1]) grad_weight = at::empty({width}, of_parameters);
  if (output_mask[2]) grad_bias = at::empty({width}, of_parameters);
  constexpr int64_t values_of_part = 1 << 14;
  const parameter_sums sums{group_part_kernels, false, count * places, values_of_part};
  run_parameter_gradients(of, given, sums, grad_weight, grad_bias);
  return made;
}

}  // namespace

void add_norms(ops::registrar& to) {
  namespace ops = at::_ops;
  add<ops::native_layer_norm, &layer_norm>(to);
  add<ops::native_layer_norm_backward, &layer_norm_backward>(to);
  add<ops::native_group_norm, &group_norm>(to);
  add<ops::native_group_norm_backward, &group_norm_backward>(to);
}

}  // namespace outback::portable
