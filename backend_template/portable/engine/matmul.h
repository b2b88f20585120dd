// Products of matrices: launches portable/kernels/matmul.k.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>

namespace outback::portable {

/// What a product is added to: beta * before + alpha * product. `before` has the product's sizes,
/// strides of 0 where it is expanded, and may be the result; it is not read if beta is 0.
struct added_to {
  const at::Tensor& before;
  const at::Scalar& beta;
  const at::Scalar& alpha;
};

/// Writes the product of `a` and `b` to `out`, on the current stream of its device:
///
///   a [batch, m, k], b [batch, k, n], out [batch, m, n]
///   a [m, k], b [k, n], out [m, n]
///   a [m, k], b [k], out [m]
///   a [k], b [k], out []
///
/// The tensors are on one device and have any strides; out overlaps neither a nor b. Does nothing
/// for an empty `out`.
///
/// Throws no_kernel, before anything is written, unless all have one dtype: float32, float16,
/// bfloat16 or float64. Throws c10::Error if alpha or beta does not fit that type, and
/// if several elements of `out` lie in one place.
void run_matmul(const at::Tensor& a, const at::Tensor& b, const at::Tensor& out);
void run_matmul(const at::Tensor& a, const at::Tensor& b, const at::Tensor& out,
                const added_to& sum);

}  // namespace outback::portable
