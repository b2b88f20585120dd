// A vendor's kernel serves its operator, whichever was registered first: it or the backend.
#include <ATen/ATen.h>
#include <ATen/native/transformers/attention.h>
#include <ATen/native/transformers/sdp_utils_cpp.h>
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

// The vendor's choice of an attention, made before there is a backend, as by
// REGISTER_PRIVATEUSE1_DISPATCH.
int choices = 0;

int64_t vendor_choice(const at::Tensor& /*query*/, const at::Tensor& /*key*/,
                      const at::Tensor& /*value*/, const std::optional<at::Tensor>& /*mask*/,
                      double /*dropout_p*/, bool /*is_causal*/, std::optional<double> /*scale*/,
                      bool /*enable_gqa*/) {
  ++choices;
  return static_cast<int64_t>(sdp::SDPBackend::math);
}

[[maybe_unused]] const bool is_chosen = [] {
  at::native::_fused_sdp_choice_stub.set_privateuse1_dispatch_ptr(&vendor_choice);
  return true;
}();

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

TEST_F(PrecedenceTest, AnEntryOfAStubThatWasThereBeforeTheBackend) {
  const at::Tensor x = at::ones({1, 2, 4, 8}, at::TensorOptions(device(0)));
  EXPECT_TRUE(at::scaled_dot_product_attention(x, x, x).cpu().allclose(at::ones({1, 2, 4, 8})));
  EXPECT_EQ(choices, 1);
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
