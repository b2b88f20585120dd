// Unboxed kernels for the operators that models call most often. Boxed kernels serve all others.
#include <ATen/Operators.h>

#include "backend_template/ops/in_place/unboxed_kernel.h"
#include "backend_template/ops/registrar.h"
#include "backend_template/ops/registrations.h"

namespace outback::ops {
namespace {

template <class... Operators>
void add_unboxed(registrar& to) {
  (to.add<Operators, &unboxed_kernel<Operators>::run>(), ...);
}

}  // namespace

// Each entry costs compile time and code, so the list holds only what training and inference of
// usual models call often. mish_backward is here since torch composes it for a device that it does
// not know, where the CPU and CUDA have a kernel each.
void register_common_operators(registrar& to) {
  namespace ops = at::_ops;
  add_unboxed<ops::_fft_c2c, ops::_fft_c2r, ops::_fft_r2c, ops::_index_put_impl_, ops::_linalg_svd,
              ops::_scaled_dot_product_flash_attention_for_cpu,
              ops::_scaled_dot_product_flash_attention_for_cpu_backward, ops::avg_pool2d,
              ops::baddbmm, ops::bitwise_and_Tensor, ops::convolution_backward_overrideable,
              ops::convolution_overrideable, ops::embedding_dense_backward, ops::gelu,
              ops::gelu_backward, ops::index_Tensor, ops::index_add, ops::index_copy,
              ops::index_fill__int_Tensor, ops::isin_Tensor_Tensor, ops::kthvalue,
              ops::linalg_ldl_factor_ex, ops::linalg_lu_factor_ex, ops::masked_fill__Tensor,
              ops::max_dim, ops::max_pool2d_with_indices_backward, ops::max_pool3d_with_indices,
              ops::min_dim, ops::mish_backward, ops::mse_loss, ops::native_batch_norm_backward,
              ops::native_layer_norm_backward, ops::nll_loss_backward, ops::scatter_add,
              ops::scatter_src, ops::scatter_value, ops::sort_stable, ops::std_correction,
              ops::sum_IntList_out, ops::var_correction>(to);
}

}  // namespace outback::ops
