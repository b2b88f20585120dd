#include "backend_template/ops/in_place/common_operators.h"

#include <ATen/core/Tensor.h>  // the headers below do not include it

#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu_ops.h>
#include <ATen/ops/abs_ops.h>
#include <ATen/ops/add_ops.h>
#include <ATen/ops/addcdiv_ops.h>
#include <ATen/ops/addcmul_ops.h>
#include <ATen/ops/amax_ops.h>
#include <ATen/ops/argmax_ops.h>
#include <ATen/ops/baddbmm_ops.h>
#include <ATen/ops/bitwise_and_ops.h>
#include <ATen/ops/clamp_ops.h>
#include <ATen/ops/cumsum_ops.h>
#include <ATen/ops/embedding_dense_backward_ops.h>
#include <ATen/ops/eq_ops.h>
#include <ATen/ops/erf_ops.h>
#include <ATen/ops/gather_ops.h>
#include <ATen/ops/ge_ops.h>
#include <ATen/ops/gelu_backward_ops.h>
#include <ATen/ops/gelu_ops.h>
#include <ATen/ops/gt_ops.h>
#include <ATen/ops/le_ops.h>
#include <ATen/ops/leaky_relu_ops.h>
#include <ATen/ops/lerp_ops.h>
#include <ATen/ops/logical_not_ops.h>
#include <ATen/ops/lt_ops.h>
#include <ATen/ops/masked_fill_ops.h>
#include <ATen/ops/max_ops.h>
#include <ATen/ops/max_pool2d_with_indices_backward_ops.h>
#include <ATen/ops/max_pool2d_with_indices_ops.h>
#include <ATen/ops/mean_ops.h>
#include <ATen/ops/mul_ops.h>
#include <ATen/ops/native_batch_norm_backward_ops.h>
#include <ATen/ops/native_layer_norm_backward_ops.h>
#include <ATen/ops/ne_ops.h>
#include <ATen/ops/nll_loss_backward_ops.h>
#include <ATen/ops/nll_loss_forward_ops.h>
#include <ATen/ops/pow_ops.h>
#include <ATen/ops/sum_ops.h>
#include <ATen/ops/where_ops.h>

#include "backend_template/ops/in_place/unboxed_kernel.h"
#include "backend_template/ops/registrar.h"

namespace outback::ops {
namespace {

// `+ 6` skips "aten::" in the operator's name, since the registrar adds it.
template <class Operator>
void add_unboxed(registrar& to) {
  to.add<&unboxed_kernel<Operator>::run>(Operator::name + 6, Operator::overload_name);
}

}  // namespace

// Each entry costs compile time and code, so the list holds only what training and inference of
// usual models call often.
void register_common_operators(registrar& to) {
  add_unboxed<at::_ops::abs>(to);
  add_unboxed<at::_ops::add_out>(to);
  add_unboxed<at::_ops::addcdiv_>(to);
  add_unboxed<at::_ops::addcmul_>(to);
  add_unboxed<at::_ops::amax>(to);
  add_unboxed<at::_ops::argmax>(to);
  add_unboxed<at::_ops::baddbmm>(to);
  add_unboxed<at::_ops::bitwise_and_Tensor>(to);
  add_unboxed<at::_ops::clamp>(to);
  add_unboxed<at::_ops::cumsum>(to);
  add_unboxed<at::_ops::embedding_dense_backward>(to);
  add_unboxed<at::_ops::eq_Scalar>(to);
  add_unboxed<at::_ops::eq_Tensor>(to);
  add_unboxed<at::_ops::erf>(to);
  add_unboxed<at::_ops::gather>(to);
  add_unboxed<at::_ops::ge_Scalar>(to);
  add_unboxed<at::_ops::gelu>(to);
  add_unboxed<at::_ops::gelu_backward>(to);
  add_unboxed<at::_ops::gt_Scalar>(to);
  add_unboxed<at::_ops::gt_Tensor>(to);
  add_unboxed<at::_ops::le_Scalar>(to);
  add_unboxed<at::_ops::leaky_relu>(to);
  add_unboxed<at::_ops::lerp__Scalar>(to);
  add_unboxed<at::_ops::logical_not_out>(to);
  add_unboxed<at::_ops::lt_Scalar>(to);
  add_unboxed<at::_ops::lt_Tensor>(to);
  add_unboxed<at::_ops::masked_fill__Scalar>(to);
  add_unboxed<at::_ops::max>(to);
  add_unboxed<at::_ops::max_dim>(to);
  add_unboxed<at::_ops::max_pool2d_with_indices>(to);
  add_unboxed<at::_ops::max_pool2d_with_indices_backward>(to);
  add_unboxed<at::_ops::mean>(to);
  add_unboxed<at::_ops::mean_dim>(to);
  add_unboxed<at::_ops::native_batch_norm_backward>(to);
  add_unboxed<at::_ops::native_layer_norm_backward>(to);
  add_unboxed<at::_ops::mul_out>(to);
  add_unboxed<at::_ops::ne_Scalar>(to);
  add_unboxed<at::_ops::nll_loss_backward>(to);
  add_unboxed<at::_ops::nll_loss_forward>(to);
  add_unboxed<at::_ops::pow_Tensor_Scalar>(to);
  add_unboxed<at::_ops::sum_dim_IntList>(to);
  add_unboxed<at::_ops::where_self>(to);
  add_unboxed<at::_ops::_scaled_dot_product_flash_attention_for_cpu>(to);
}

}  // namespace outback::ops
