// where, masked_fill_ and abs.out: torch's functions for the CPU hand a TensorIterator to a
// dispatch stub, so they run in place as they are.
#include <ATen/core/Tensor.h>
#include <ATen/native/IndexKernel.h>
#include <ATen/native/TensorCompare.h>
#include <ATen/native/TensorIterator.h>
#include <ATen/native/UnaryOps.h>
#include <ATen/ops/abs_native.h>
#include <ATen/ops/abs_ops.h>
#include <ATen/ops/masked_fill_native.h>
#include <ATen/ops/masked_fill_ops.h>
#include <ATen/ops/where_native.h>
#include <ATen/ops/where_ops.h>

#include "backend_template/ops/in_place/cpu_kernels/cpu_kernels.h"
#include "backend_template/ops/in_place/cpu_kernels/cpu_structured.h"
#include "backend_template/ops/in_place/cpu_kernels/stubs.h"
#include "backend_template/ops/registrar.h"

namespace outback::ops {
namespace {

bool is_mask_of(const at::Tensor& first, const at::Tensor& mask) {
  return mask.scalar_type() == c10::kBool && is_like(mask, mask) && mask.device() == first.device();
}

at::Tensor where(const at::Tensor& condition, const at::Tensor& self, const at::Tensor& other) {
  const bool runs_on_pointers = is_ours(self) && is_like(self, self) && is_like(self, other) &&
                                is_mask_of(self, condition) && ready(self);
  return runs_on_pointers ? at::native::where(condition, self, other)
                          : unboxed_kernel<at::_ops::where_self>::run(condition, self, other);
}

at::Tensor& masked_fill_(at::Tensor& self, const at::Tensor& mask, const at::Scalar& value) {
  const bool runs_on_pointers =
      is_ours(self) && is_like(self, self) && is_mask_of(self, mask) && ready(self);
  return runs_on_pointers ? at::native::masked_fill__cpu(self, mask, value)
                          : unboxed_kernel<at::_ops::masked_fill__Scalar>::run(self, mask, value);
}

at::Tensor& abs_out(const at::Tensor& self, at::Tensor& out) {
  const bool runs_on_pointers =
      is_ours(self) && is_like(self, self) && is_like(self, out) && ready(self);
  return runs_on_pointers ? at::native::abs_out(self, out)
                          : unboxed_kernel<at::_ops::abs_out>::run(self, out);
}

}  // namespace

void register_choices(registrar& to) {
  fill_stub<at::native::where_kernel>();
  to.add<&where>("where", "self");
  fill_stub<at::native::masked_fill_stub>();
  to.add<&masked_fill_>("masked_fill_", "Scalar");
  fill_stub<at::native::abs_stub>();
  to.add<&abs_out>("abs", "out");  // torch composes abs and abs_ of it
}

}  // namespace outback::ops
