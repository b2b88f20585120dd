// Unboxed kernels for the operators that models call most often. Boxed kernels serve all others.
#include <ATen/Operators.h>

#include "backend_template/ops/in_place/unboxed_kernel.h"
#include "backend_template/ops/registrar.h"
#include "backend_template/ops/registrations.h"

namespace outback::ops {
namespace {

template <class Operator>
void add_unboxed(registrar& to) {
  to.add<Operator, &unboxed_kernel<Operator>::run>();
}

}  // namespace

// Each entry costs compile time and code, so the list holds only what training and inference of
// usual models call often.
void register_common_operators(registrar& to) {
  add_unboxed<at::_ops::_adaptive_avg_pool2d>(to);
  add_unboxed<at::_ops::_fft_c2c>(to);
  add_unboxed<at::_ops::_fft_c2r>(to);
  add_unboxed<at::_ops::_fft_r2c>(to);
  add_unboxed<at::_ops::_linalg_svd>(to);
  add_unboxed<at::_ops::_scaled_dot_product_flash_attention_for_cpu>(to);
  add_unboxed<at::_ops::add_out>(to);
  add_unboxed<at::_ops::addmv>(to);
  add_unboxed<at::_ops::all>(to);
  add_unboxed<at::_ops::all_dim>(to);
  add_unboxed<at::_ops::any>(to);
  add_unboxed<at::_ops::any_dim>(to);
  add_unboxed<at::_ops::argmax>(to);
  add_unboxed<at::_ops::argmin>(to);
  add_unboxed<at::_ops::avg_pool2d>(to);
  add_unboxed<at::_ops::baddbmm>(to);
  add_unboxed<at::_ops::bitwise_and_Tensor>(to);
  add_unboxed<at::_ops::convolution_backward_overrideable>(to);
  add_unboxed<at::_ops::convolution_overrideable>(to);
  add_unboxed<at::_ops::cumprod>(to);
  add_unboxed<at::_ops::cumsum>(to);
  add_unboxed<at::_ops::div_out>(to);
  add_unboxed<at::_ops::embedding_dense_backward>(to);
  add_unboxed<at::_ops::flip>(to);
  add_unboxed<at::_ops::gelu>(to);
  add_unboxed<at::_ops::gelu_backward>(to);
  add_unboxed<at::_ops::hardswish>(to);
  add_unboxed<at::_ops::hardtanh>(to);
  add_unboxed<at::_ops::index_add>(to);
  add_unboxed<at::_ops::isin_Tensor_Tensor>(to);
  add_unboxed<at::_ops::linalg_lu_factor_ex>(to);
  add_unboxed<at::_ops::logical_and>(to);
  add_unboxed<at::_ops::logical_not>(to);
  add_unboxed<at::_ops::logical_not_out>(to);
  add_unboxed<at::_ops::logical_or>(to);
  add_unboxed<at::_ops::masked_fill__Tensor>(to);
  add_unboxed<at::_ops::max>(to);
  add_unboxed<at::_ops::max_dim>(to);
  add_unboxed<at::_ops::max_pool2d_with_indices>(to);
  add_unboxed<at::_ops::max_pool2d_with_indices_backward>(to);
  add_unboxed<at::_ops::max_pool3d_with_indices>(to);
  add_unboxed<at::_ops::min>(to);
  add_unboxed<at::_ops::min_dim>(to);
  add_unboxed<at::_ops::mse_loss>(to);
  add_unboxed<at::_ops::mul_out>(to);
  add_unboxed<at::_ops::nan_to_num>(to);
  add_unboxed<at::_ops::native_batch_norm_backward>(to);
  add_unboxed<at::_ops::native_layer_norm_backward>(to);
  add_unboxed<at::_ops::nll_loss_backward>(to);
  add_unboxed<at::_ops::nll_loss_forward>(to);
  add_unboxed<at::_ops::prod>(to);
  add_unboxed<at::_ops::prod_dim_int>(to);
  add_unboxed<at::_ops::roll>(to);
  add_unboxed<at::_ops::scatter_add>(to);
  add_unboxed<at::_ops::scatter_src>(to);
  add_unboxed<at::_ops::sort_stable>(to);
  add_unboxed<at::_ops::std_correction>(to);
  add_unboxed<at::_ops::sub_out>(to);
  add_unboxed<at::_ops::sum_IntList_out>(to);
  add_unboxed<at::_ops::topk>(to);
  add_unboxed<at::_ops::tril>(to);
  add_unboxed<at::_ops::triu>(to);
  add_unboxed<at::_ops::var_correction>(to);
}

}  // namespace outback::ops
