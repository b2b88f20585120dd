// Operators whose functions for the CPU in torch are not structured, but hand pointers to a loop or
// a TensorIterator to a dispatch stub, so that they run in place as they are: where, masked_fill_,
// trace, searchsorted and others.
#include <ATen/core/Tensor.h>
#include <ATen/native/IndexKernel.h>
#include <ATen/native/TensorCompare.h>
#include <ATen/native/TensorIterator.h>
#include <ATen/native/UnaryOps.h>

#include "backend_template/ops/in_place/cpu_kernels/cpu_structured.h"
#include "backend_template/ops/in_place/cpu_kernels/stubs.h"
#include "backend_template/ops/registrar.h"
#include "backend_template/ops/registrations.h"

namespace outback::ops {
namespace {

at::Tensor where(const at::Tensor& condition, const at::Tensor& self, const at::Tensor& other) {
  const bool runs_on_pointers = is_ours(self) && is_like(self, self) && is_like(self, other) &&
                                is_index_of(self, condition) && ready(self);
  return runs_on_pointers ? at::native::where(condition, self, other)
                          : unboxed_kernel<at::_ops::where_self>::run(condition, self, other);
}

}  // namespace

void register_choices(registrar& to) {
  fill_stub<at::native::where_kernel>();
  to.add<&where>("where", "self");
  fill_stub<at::native::masked_fill_stub>();
  add_native<at::_ops::masked_fill__Scalar, &at::native::masked_fill__cpu,
             native_rules{.indices = true}>(to);
  fill_stub<at::native::abs_stub>();
  add_native<at::_ops::abs_out, &at::native::abs_out>(to);  // torch composes abs and abs_ of it
  // The stub under floor_divide is that of div with rounding (cpu_elementwise.cpp).
  add_native<at::_ops::bucketize_Tensor, &at::native::bucketize_cpu,
             native_rules{.contiguous = true}>(to);
  add_native<at::_ops::floor_divide, &at::native::floor_divide>(to);
  add_native<at::_ops::rsub_Tensor, &at::native::rsub>(to);
  add_native<at::_ops::searchsorted_Tensor, &at::native::searchsorted_cpu,
             native_rules{.contiguous = true}>(to);
  add_native<at::_ops::trace, &at::native::trace_cpu>(to);
}

}  // namespace outback::ops
