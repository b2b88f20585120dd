// A vendor's kernel serves its operator, whichever was registered first: it or the backend.
#include <ATen/ATen.h>
#include <ATen/ops/mm_meta.h>
#include <ATen/ops/mm_ops.h>
#include <ATen/ops/mul_meta.h>
#include <ATen/ops/mul_ops.h>
#include <gtest/gtest.h>

#include "outback/kernels/elementwise.h"
#include "outback/kernels/structured.h"
#include "tests/core/test_backend.h"

namespace outback::test {
namespace {

int mul_runs = 0;
int mm_runs = 0;

struct vendor_mul : at::meta::structured_mul_Tensor {
  void impl(const at::Tensor& /*self*/, const at::Tensor& /*other*/, const at::Tensor& out) {
    ++mul_runs;
    out.fill_(7);
  }
};

struct vendor_mm : at::meta::structured_mm {
  void impl(const at::Tensor& /*self*/, const at::Tensor& /*mat2*/, const at::Tensor& out) {
    ++mm_runs;
    out.fill_(7);
  }
};

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  kernels::impl_structured<vendor_mul, at::_ops::mul_Tensor, at::_ops::mul_out,
                           at::_ops::mul__Tensor>(m);
}

class PrecedenceTest : public BackendTest {};

TEST_F(PrecedenceTest, AKernelThatWasThereBeforeTheBackend) {
  at::Tensor x = at::ones({2, 2}, at::TensorOptions(device(0)));
  const at::Tensor sevens = at::full({2, 2}, 7.0f);
  EXPECT_TRUE((x * x).cpu().equal(sevens));
  at::Tensor out = at::empty({0}, x.options());
  at::mul_out(out, x, x);
  EXPECT_TRUE(out.cpu().equal(sevens));
  EXPECT_TRUE(x.mul_(x).cpu().equal(sevens));
  EXPECT_EQ(mul_runs, 3);
}

TEST_F(PrecedenceTest, AKernelThatComesLater) {
  const at::Tensor x = at::ones({2, 2}, at::TensorOptions(device(0)));
  EXPECT_TRUE(x.mm(x).cpu().equal(at::full({2, 2}, 2.0f))) << "Outback's";
  {
    torch::Library later(torch::Library::IMPL, "aten", c10::DispatchKey::PrivateUse1, __FILE__,
                         __LINE__);
    kernels::impl_structured<vendor_mm, at::_ops::mm, at::_ops::mm_out>(later);
    EXPECT_TRUE(x.mm(x).cpu().equal(at::full({2, 2}, 7.0f)));
    EXPECT_EQ(mm_runs, 1);
  }
  EXPECT_TRUE(x.mm(x).cpu().equal(at::full({2, 2}, 2.0f))) << "and Outback's again";
}

}  // namespace
}  // namespace outback::test
