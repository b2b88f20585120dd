// A vendor's kernels that serve float32 alone, as a library that is loaded after a backend:
// tests/python/ops/test_declined_calls.py. Their results are sevens.
#include <ATen/core/Tensor.h>
#include <ATen/ops/addmm_meta.h>
#include <ATen/ops/addmm_ops.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/fill_ops.h>
#include <ATen/ops/full.h>
#include <ATen/ops/mul_meta.h>
#include <ATen/ops/mul_ops.h>
#include <ATen/ops/square_ops.h>
#include <ATen/ops/zero.h>
#include <outback/kernels/decline.h>
#include <outback/kernels/structured.h>
#include <torch/library.h>

namespace {

bool is_float(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kFloat;
}

at::Tensor& fill_(at::Tensor& self, const at::Scalar& value) {
  if (!is_float(self)) return outback::kernels::decline<at::_ops::fill__Scalar>(self, value);
  return self.zero_().add_(value);
}

// The results are written by copies from the CPU, which work on every device.
void write_sevens(const at::Tensor& out) {
  out.copy_(at::full(out.sizes(), 7, out.options().device(at::kCPU)));
}

at::Tensor square(const at::Tensor& self) {
  at::Tensor out = at::empty_like(self);
  write_sevens(out);
  return out;
}

struct addmm : at::meta::structured_addmm {
  static bool supports(const at::Tensor& self, const at::Tensor& /*mat1*/,
                       const at::Tensor& /*mat2*/, const at::Scalar& /*beta*/,
                       const at::Scalar& /*alpha*/) {
    return is_float(self);
  }
  void impl(const at::Tensor& /*self*/, const at::Tensor& /*mat1*/, const at::Tensor& /*mat2*/,
            const at::Scalar& /*beta*/, const at::Scalar& /*alpha*/, const at::Tensor& out) {
    write_sevens(out);
  }
};

struct mul : at::meta::structured_mul_Tensor {
  static bool supports(const at::Tensor& self, const at::Tensor& /*other*/) {
    return is_float(self);
  }
  void impl(const at::Tensor& /*self*/, const at::Tensor& /*other*/, const at::Tensor& out) {
    write_sevens(out);
  }
};

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  outback::kernels::impl_structured<addmm, at::_ops::addmm, at::_ops::addmm_out, at::_ops::addmm_>(
      m);
  outback::kernels::impl_structured<mul, at::_ops::mul_Tensor, at::_ops::mul_out,
                                    at::_ops::mul__Tensor>(m);
  m.impl("fill_.Scalar", &fill_);
  m.impl("square", &outback::kernels::when<at::_ops::square, &is_float, &square>::run);
}
