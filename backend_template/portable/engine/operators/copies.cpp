// copy_ and fill_ within a device, between other strides and dtypes. One run of bytes is the
// runtime's to copy or to fill, and goes to the next provider.
#include <ATen/TensorIterator.h>
#include <ATen/core/Tensor.h>

// Includes all of torch's operators, after the headers that they need and do not include.
#include <ATen/Functions.h>
#include <ATen/Operators.h>

#include "backend_template/ops/tensors/tensor_fields.h"
#include "backend_template/portable/engine/elementwise.h"
#include "backend_template/portable/engine/operator.h"
#include "backend_template/portable/engine/operators.h"

namespace outback::portable {
namespace {

constinit body fill_body("fill", 0);

using next_copy = next<at::_ops::copy_>;
using next_fill = next<at::_ops::fill__Scalar>;

// True if each side is one run of bytes, with the same elements in the same order.
bool is_alike(const at::Tensor& self, const at::Tensor& src) {
  return self.scalar_type() == src.scalar_type() && self.sizes() == src.sizes() &&
         ((self.is_contiguous() && src.is_contiguous()) ||
          (self.strides() == src.strides() && self.is_non_overlapping_and_dense()));
}

// Between two devices: the bytes go over as they are, and the rest is a copy within a device.
at::Tensor& copy_across(at::Tensor& self, const at::Tensor& src, bool non_blocking) {
  const at::Tensor arrived = at::empty(src.sizes(), self.options().dtype(src.scalar_type()));
  arrived.copy_(src.contiguous(), non_blocking);
  return self.copy_(arrived);
}

at::Tensor& copy_(at::Tensor& self, const at::Tensor& src, bool non_blocking) {
  if (self.is_same(src)) return self;
  if (!ops::is_ours(self) || is_alike(self, src)) return next_copy::call(self, src, non_blocking);
  at::TensorIterator elements = at::TensorIteratorConfig()
                                    .add_output(self)
                                    .add_const_input(src)
                                    .resize_outputs(false)
                                    .check_all_same_dtype(false)
                                    .allow_cpu_scalars(true)
                                    .build();
  // A CPU scalar is a number of the kernel's. Values that are read are computed in their own type,
  // so that nothing is rounded twice.
  const bool is_number = !ops::is_ours(src);
  run_elementwise(elements, copy_body, {}, is_number ? self.scalar_type() : src.scalar_type());
  return self;
}

// `takes` wants one device, so the dispatcher comes here first.
at::Tensor& copy_of_any(at::Tensor& self, const at::Tensor& src, bool non_blocking) {
  const bool crosses = self.defined() && src.defined() && ops::is_ours(self) && ops::is_ours(src) &&
                       self.device() != src.device() && !is_alike(self, src);
  if (crosses && takes(self) && takes(src)) return copy_across(self, src, non_blocking);
  return guarded<at::_ops::copy_, &copy_>::call(self, src, non_blocking);
}

at::Tensor& fill_(at::Tensor& self, const at::Scalar& value) {
  // The next provider fills one run of bytes, and refuses a number that does not fit.
  if (self.is_non_overlapping_and_dense() || !fits(value, self.scalar_type())) {
    return next_fill::call(self, value);
  }
  at::TensorIterator elements = at::TensorIteratorConfig()
                                    .set_check_mem_overlap(false)
                                    .check_all_same_dtype(false)
                                    .add_output(self)
                                    .resize_outputs(false)
                                    .build();
  run_elementwise(elements, fill_body, numbers(value), self.scalar_type());
  return self;
}

at::Tensor& fill_by_tensor(at::Tensor& self, const at::Tensor& value) {
  if (value.dim() != 0 || !ops::is_ours(value)) {
    return next<at::_ops::fill__Tensor>::call(self, value);
  }
  return self.copy_(value);
}

}  // namespace

void add_copies(ops::registrar& to) {
  to.add<at::_ops::copy_, &copy_of_any>();
  add<at::_ops::fill__Scalar, &fill_>(to);
  add<at::_ops::fill__Tensor, &fill_by_tensor>(to);
}

}  // namespace outback::portable
