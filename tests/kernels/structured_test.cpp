// Kernels for structured operators of every kind: how they get their arguments and their outputs.
#include "outback/kernels/structured.h"

#include <ATen/ATen.h>
#include <ATen/ops/addmm_meta.h>
#include <ATen/ops/addmm_ops.h>
#include <ATen/ops/cat_meta.h>
#include <ATen/ops/cat_ops.h>
#include <ATen/ops/eq_meta.h>
#include <ATen/ops/eq_ops.h>
#include <ATen/ops/linalg_inv_ex_meta.h>
#include <ATen/ops/linalg_inv_ex_ops.h>
#include <ATen/ops/max_meta.h>
#include <ATen/ops/max_ops.h>
#include <ATen/ops/slow_conv_transpose2d_meta.h>
#include <ATen/ops/slow_conv_transpose2d_ops.h>
#include <ATen/ops/upsample_nearest1d_meta.h>
#include <ATen/ops/upsample_nearest1d_ops.h>
#include <gmock/gmock.h>

#include <functional>
#include <string>
#include <vector>

#include "outback/kernels/elementwise.h"
#include "tests/core/test_backend.h"
#include "tests/kernels/error_of.h"

namespace outback::test {
namespace {

using ::testing::HasSubstr;

int runs = 0;  // of kernels of this file, since the test began

// Their work is the CPU's, so that its values are right.
struct test_addmm : at::meta::structured_addmm {
  void impl(const at::Tensor& self, const at::Tensor& mat1, const at::Tensor& mat2,
            const at::Scalar& beta, const at::Scalar& alpha, const at::Tensor& out) {
    ++runs;
    seen_device =
        static_cast<int>(c10::impl::VirtualGuardImpl(out.device().type()).getDevice().index());
    out.copy_(at::addmm(self.cpu(), mat1.cpu(), mat2.cpu(), beta, alpha));
  }
  static inline int seen_device = -1;
};

struct test_cat : at::meta::structured_cat {
  void impl(const meta_return_ty& worked_out, const at::ITensorListRef& tensors, int64_t /*dim*/,
            const at::Tensor& out) {
    ++runs;
    EXPECT_TRUE(worked_out.all_same_dtype);
    std::vector<at::Tensor> on_cpu;
    for (const at::Tensor& tensor : tensors) on_cpu.push_back(tensor.cpu());
    out.copy_(at::cat(on_cpu, worked_out.dim));
  }
};

struct test_max : at::meta::structured_max_dim {
  void impl(const meta_return_ty& worked_out, const at::Tensor& self, int64_t /*dim*/, bool keepdim,
            const at::Tensor& values, const at::Tensor& indices) {
    ++runs;
    const auto [max_values, max_indices] = self.cpu().max(worked_out.dim, keepdim);
    values.copy_(max_values);
    indices.copy_(max_indices);
  }
};

// One that wants its output in a certain order of memory.
struct test_inverse : at::meta::structured_linalg_inv_ex {
  void impl(const at::Tensor& self, bool check_errors, const at::Tensor& inverse,
            const at::Tensor& info) {
    ++runs;
    EXPECT_EQ(inverse.strides(), at::IntArrayRef({1, inverse.size(0)}));
    const auto [result, result_info] = at::linalg_inv_ex(self.cpu(), check_errors);
    inverse.copy_(result);
    info.copy_(result_info);
  }
};

struct test_upsample : at::meta::structured_upsample_nearest1d {
  void impl(const at::Tensor& self, at::IntArrayRef output_size, std::optional<double> scales,
            const at::Tensor& out) {
    ++runs;
    out.copy_(at::upsample_nearest1d(self.cpu(), output_size, scales));
  }
};

struct test_conv_transpose : at::meta::structured_slow_conv_transpose2d {
  void impl(const at::Tensor& self, const at::Tensor& weight, at::IntArrayRef kernel_size,
            at::OptionalTensorRef bias, at::IntArrayRef stride, at::IntArrayRef padding,
            at::IntArrayRef output_padding, at::IntArrayRef dilation, const at::Tensor& out) {
    ++runs;
    out.copy_(
        at::slow_conv_transpose2d(self.cpu(), weight.cpu(), kernel_size,
                                  bias.has_value() ? std::optional(bias->cpu()) : std::nullopt,
                                  stride, padding, output_padding, dilation));
  }
};

struct test_eq : at::meta::structured_eq_Tensor {
  void impl(const at::Tensor& /*self*/, const at::Tensor& /*other*/, const at::Tensor& /*out*/) {
    kernels::run_loops(*this,
                       [](const kernels::elementwise_loop& loop) {
                         ++runs;
                         EXPECT_TRUE(loop.is_contiguous);
                         const auto* a = static_cast<const float*>(loop.operands[1].data);
                         const auto* b = static_cast<const float*>(loop.operands[2].data);
                         loop.stream.wait();
                         for (int64_t i = 0; i < loop.numel; ++i) {
                           static_cast<bool*>(loop.operands[0].data)[i] = a[i] == b[i];
                         }
                       },
                       {.result_dtype = at::kBool});
  }
};

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  namespace ops = at::_ops;
  kernels::impl_structured<test_addmm, ops::addmm, ops::addmm_out, ops::addmm_>(m);
  kernels::impl_structured<test_cat, ops::cat, ops::cat_out>(m);
  kernels::impl_structured<test_max, ops::max_dim, ops::max_dim_max>(m);
  kernels::impl_structured<test_inverse, ops::linalg_inv_ex, ops::linalg_inv_ex_inverse>(m);
  kernels::impl_structured<test_upsample, ops::upsample_nearest1d, ops::upsample_nearest1d_out>(m);
  kernels::impl_structured<test_conv_transpose, ops::slow_conv_transpose2d,
                           ops::slow_conv_transpose2d_out>(m);
  kernels::impl_structured<test_eq, ops::eq_Tensor, ops::eq_Tensor_out, ops::eq__Tensor>(m);
}

class StructuredTest : public BackendTest {
 protected:
  void SetUp() override { runs = 0; }

  static at::Tensor there(const at::Tensor& tensor) { return tensor.to(device(0)); }
  static at::TensorOptions options(c10::ScalarType dtype = at::kFloat) {
    return at::TensorOptions(dtype).device(device(0));
  }
  // The kernel ran, once, and made this.
  static void expect(const at::Tensor& result, const at::Tensor& expected) {
    EXPECT_EQ(runs, 1);
    runs = 0;
    EXPECT_EQ(result.device(), device(0));
    EXPECT_TRUE(result.cpu().equal(expected)) << result << expected;
  }

  const at::Tensor a = at::arange(6, at::kFloat).view({2, 3});
  const at::Tensor b = at::arange(12, at::kFloat).view({3, 4});
  const at::Tensor bias = at::arange(8, at::kFloat).view({2, 4});
};

TEST_F(StructuredTest, OneClassServesAllVariants) {
  const at::Tensor expected = at::addmm(bias, a, b, 2, 3);
  expect(at::addmm(there(bias), there(a), there(b), 2, 3), expected);
  at::Tensor out = at::empty({0}, options());
  EXPECT_TRUE(at::addmm_out(out, there(bias), there(a), there(b), 2, 3).is_same(out));
  expect(out, expected);
  at::Tensor self = there(bias);
  EXPECT_TRUE(self.addmm_(there(a), there(b), 2, 3).is_same(self));
  expect(self, expected);
}

TEST_F(StructuredTest, AnOutputKeepsItsStridesAndMemory) {
  at::Tensor out = at::empty({4, 2}, options()).t();
  const void* const memory = out.data_ptr();
  at::addmm_out(out, there(bias), there(a), there(b));
  expect(out, at::addmm(bias, a, b));
  EXPECT_EQ(out.data_ptr(), memory);
  EXPECT_EQ(out.strides(), at::IntArrayRef({1, 2}));
}

TEST_F(StructuredTest, ErrorsAreThoseOfTheMetaFunction) {
  EXPECT_THAT(error_of([&] { at::addmm(there(bias), there(b), there(b)); }),
              HasSubstr("mat1 and mat2 shapes cannot be multiplied"));
  at::Tensor doubles = at::empty({2, 4}, options(at::kDouble));
  EXPECT_THAT(error_of([&] { at::addmm_out(doubles, there(bias), there(a), there(b)); }),
              HasSubstr("Expected out tensor to have dtype float, but got double instead"));
  at::Tensor on_cpu = at::empty({2, 4});
  EXPECT_THAT(error_of([&] { at::addmm_out(on_cpu, there(bias), there(a), there(b)); }),
              HasSubstr("Expected all tensors to be on the same device"));
  at::Tensor row = there(bias[0]);
  EXPECT_THAT(error_of([&] { row.addmm_(there(a), there(b)); }),
              HasSubstr("Bad in-place call: input tensor size [4] and output tensor size [2, 4]"));
  EXPECT_THAT(error_of([&] { at::addmm(there(bias), there(a), b); }),
              HasSubstr("aten::addmm: Expected all tensors to be on the same device"));
  EXPECT_EQ(runs, 0);
}

TEST_F(StructuredTest, RunsWithTheDeviceOfItsTensors) {
  const at::Tensor result = at::addmm(bias.to(device(1)), a.to(device(1)), b.to(device(1)));
  EXPECT_EQ(result.device(), device(1));
  EXPECT_EQ(test_addmm::seen_device, 1);
}

TEST_F(StructuredTest, ListsAndWhatMetaWorkedOut) {
  expect(at::cat({there(a), there(a)}, -1), at::cat({a, a}, -1));
  EXPECT_THAT(error_of([&] { at::cat({there(a), a}); }), HasSubstr("on the same device"));
}

TEST_F(StructuredTest, SeveralOutputs) {
  const auto [expected, expected_indices] = a.max(-1);
  const auto [values, indices] = there(a).max(-1);
  expect(values, expected);
  EXPECT_TRUE(indices.cpu().equal(expected_indices));
  at::Tensor out = at::empty({0}, options());
  at::Tensor out_indices = at::empty({0}, options(at::kLong));
  at::max_out(out, out_indices, there(a), -1);
  expect(out, expected);
  EXPECT_TRUE(out_indices.cpu().equal(expected_indices));
}

TEST_F(StructuredTest, AnOutputWithOtherStridesThanTheKernelsGetsACopy) {
  const at::Tensor x = at::eye(3) + at::ones({3, 3});
  const at::Tensor expected = std::get<0>(at::linalg_inv_ex(x));
  expect(std::get<0>(at::linalg_inv_ex(there(x))), expected);
  for (const bool transposed : {false, true}) {
    at::Tensor out = at::empty({3, 3}, options());
    if (transposed) out = out.t();
    const std::vector<int64_t> strides = out.strides().vec();
    const void* const memory = out.data_ptr();
    at::Tensor info = at::empty({}, options(at::kInt));
    at::linalg_inv_ex_out(out, info, there(x));
    expect(out, expected);
    EXPECT_EQ(out.strides().vec(), strides);
    EXPECT_EQ(out.data_ptr(), memory);
  }
}

TEST_F(StructuredTest, SymbolicSizesArriveAsNumbers) {
  const at::Tensor x = a.unsqueeze(0);
  expect(at::upsample_nearest1d(there(x), 6), at::upsample_nearest1d(x, 6));
}

TEST_F(StructuredTest, OptionalTensors) {
  const at::Tensor x = at::arange(16, at::kFloat).view({1, 1, 4, 4});
  const at::Tensor weight = at::arange(4, at::kFloat).view({1, 1, 2, 2});
  const at::Tensor one = at::ones({1});
  const auto run = [](const at::Tensor& self, const at::Tensor& by, const at::Tensor& plus) {
    return at::slow_conv_transpose2d(self, by, {2, 2}, plus, /*stride=*/{1, 1}, /*padding=*/{0, 0},
                                     /*output_padding=*/{0, 0}, /*dilation=*/{1, 1});
  };
  expect(run(there(x), there(weight), {}), run(x, weight, {}));
  expect(run(there(x), there(weight), there(one)), run(x, weight, one));
}

TEST_F(StructuredTest, TensorIterators) {
  const at::Tensor other = a.clone().fill_(2);
  expect(at::eq(there(a), there(other)), a == other);
  expect(there(a).eq_(there(other)), a.clone().eq_(other));
  at::Tensor out = at::empty({0}, options(at::kLong));
  expect(at::eq_out(out, there(a.to(at::kHalf)), there(other)), (a == other).to(at::kLong));
}

}  // namespace
}  // namespace outback::test
