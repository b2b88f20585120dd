// A vendor's kernels that serve some calls of their operators and decline the others: who serves
// those then. Each kernel here serves float32 alone, and its results are sevens.
#include "outback/kernels/decline.h"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <ATen/ops/addmm_meta.h>
#include <ATen/ops/addmm_ops.h>
#include <ATen/ops/atan2_ops.h>
#include <ATen/ops/erfinv_ops.h>
#include <ATen/ops/fill_ops.h>
#include <ATen/ops/masked_select_ops.h>
#include <ATen/ops/mm_ops.h>
#include <ATen/ops/native_layer_norm_ops.h>
#include <ATen/ops/repeat_ops.h>
#include <ATen/ops/square_ops.h>
#include <ATen/ops/sum_ops.h>
#include <gmock/gmock.h>
#include <torch/library.h>

#include <functional>
#include <string>
#include <tuple>

#include "backend_template/core/graphs/device_graph.h"
#include "backend_template/core/streams/stream.h"
#include "outback/kernels/structured.h"
#include "tests/core/test_backend.h"
#include "tests/kernels/error_of.h"

namespace outback::test {
namespace {

using ::testing::HasSubstr;

int runs = 0;  // of the vendor's kernels, without the calls that they declined

bool is_float(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kFloat;
}

at::Tensor sevens_like(const at::Tensor& tensor) {
  ++runs;
  return at::full(tensor.sizes(), 7, tensor.options());
}

struct vendor_addmm : at::meta::structured_addmm {
  static bool supports(const at::Tensor& self, const at::Tensor& /*mat1*/,
                       const at::Tensor& /*mat2*/, const at::Scalar& beta,
                       const at::Scalar& /*alpha*/) {
    return is_float(self) && beta.toDouble() == 1;
  }
  void impl(const at::Tensor& /*self*/, const at::Tensor& /*mat1*/, const at::Tensor& /*mat2*/,
            const at::Scalar& /*beta*/, const at::Scalar& /*alpha*/, const at::Tensor& out) {
    ++runs;
    out.fill_(7);
  }
};

bool are_floats(const at::Tensor& self, const at::Tensor& /*other*/) {
  return is_float(self);
}
at::Tensor mm(const at::Tensor& self, const at::Tensor& mat2) {
  return sevens_like(at::empty({self.size(0), mat2.size(1)}, self.options()));
}
at::Tensor atan2(const at::Tensor& self, const at::Tensor& other) {
  return is_float(self) ? sevens_like(self) : kernels::decline<at::_ops::atan2>(self, other);
}
at::Tensor masked_select(const at::Tensor& self, const at::Tensor& mask) {
  return kernels::decline<at::_ops::masked_select>(self, mask);
}
at::Tensor erfinv(const at::Tensor& self) {
  return is_float(self) ? sevens_like(self) : kernels::decline<at::_ops::erfinv>(self);
}
at::Tensor& erfinv_out(const at::Tensor& self, at::Tensor& out) {
  return is_float(self) ? out.fill_(7) : kernels::decline<at::_ops::erfinv_out>(self, out);
}
at::Tensor& fill_(at::Tensor& self, const at::Scalar& value) {
  return kernels::decline<at::_ops::fill__Scalar>(self, value);
}
// Composed of pow, and of as_strided and copy_.
at::Tensor square(const at::Tensor& self) {
  return is_float(self) ? sevens_like(self) : kernels::decline<at::_ops::square>(self);
}
at::Tensor repeat(const at::Tensor& self, at::IntArrayRef repeats) {
  return is_float(self) ? sevens_like(self) : kernels::decline<at::_ops::repeat>(self, repeats);
}
at::Tensor sum(const at::Tensor& self, at::OptionalIntArrayRef dim, bool keepdim,
               std::optional<at::ScalarType> dtype) {
  return kernels::decline<at::_ops::sum_dim_IntList>(self, dim, keepdim, dtype);
}
using three = std::tuple<at::Tensor, at::Tensor, at::Tensor>;
three layer_norm(const at::Tensor& input, at::IntArrayRef shape,
                 const std::optional<at::Tensor>& weight, const std::optional<at::Tensor>& bias,
                 double eps) {
  if (!is_float(input)) {
    return kernels::decline<at::_ops::native_layer_norm>(input, shape, weight, bias, eps);
  }
  return {sevens_like(input), input, input};
}
void foreach_add(at::TensorList self, const at::Scalar& scalar) {
  if (!is_float(self[0])) return kernels::decline<at::_ops::_foreach_add__Scalar>(self, scalar);
  ++runs;
}

void add_kernels(torch::Library& m) {
  kernels::impl_structured<vendor_addmm, at::_ops::addmm, at::_ops::addmm_out, at::_ops::addmm_>(m);
  m.impl("mm", &kernels::when<at::_ops::mm, &are_floats, &mm>::run);
  m.impl("atan2", &atan2);
  m.impl("masked_select", &masked_select);
  m.impl("erfinv", &erfinv);
  m.impl("erfinv.out", &erfinv_out);
  m.impl("fill_.Scalar", &fill_);
  m.impl("square", &square);
  m.impl("repeat", &repeat);
  m.impl("sum.dim_IntList", &sum);
  m.impl("native_layer_norm", &layer_norm);
  m.impl("_foreach_add_.Scalar", &foreach_add);
}

struct for_nobody {
  static constexpr const char* name = "decline_test::for_nobody";
  static constexpr const char* overload_name = "";
  using schema = at::Tensor(const at::Tensor&);
};
struct on_cpu {
  static constexpr const char* name = "decline_test::on_cpu";
  static constexpr const char* overload_name = "";
  using schema = at::Tensor(const at::Tensor&);
};

template <class Operator>
at::Tensor declined(const at::Tensor& self) {
  return kernels::decline<Operator>(self);
}

TORCH_LIBRARY(decline_test, m) {
  m.def("for_nobody(Tensor self) -> Tensor",
        torch::dispatch(c10::DispatchKey::PrivateUse1, &declined<for_nobody>));
  m.def("on_cpu(Tensor self) -> Tensor");
}
TORCH_LIBRARY_IMPL(decline_test, PrivateUse1, m) {
  m.impl("on_cpu", &declined<on_cpu>);
}
TORCH_LIBRARY_IMPL(decline_test, CPU, m) {
  m.impl("on_cpu", [](const at::Tensor& self) { return self + 1; });
}

at::Tensor call(const char* name, const at::Tensor& argument) {
  return c10::Dispatcher::singleton()
      .findSchemaOrThrow(name, "")
      .typed<at::Tensor(const at::Tensor&)>()
      .call(argument);
}

// The kernels of `vendors` are registered before the backend.
class DeclineTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    add_kernels(vendors());
    register_backend({.name = "acme",
                      .runtime = host_table(),
                      .excluded_operators = {"aten::atan2", "aten::masked_select"}});
  }
  DeclineTest() { runs = 0; }

  static torch::Library& vendors() {
    static auto& library = *new torch::Library(torch::Library::IMPL, "aten",
                                               c10::DispatchKey::PrivateUse1, __FILE__, __LINE__);
    return library;
  }
  static c10::Device device() { return c10::Device(c10::DeviceType::PrivateUse1, 0); }
  static at::Tensor some(at::ScalarType dtype, at::IntArrayRef size = {3, 3}) {
    return at::arange(1, 1 + c10::multiply_integers(size), at::kFloat).view(size).div(16).to(dtype);
  }
  // That a call on the device has the CPU's results for doubles, and sevens for floats.
  static void compare(const std::function<at::Tensor(const at::Tensor&)>& call) {
    runs = 0;
    const at::Tensor expected = call(some(at::kDouble));
    const at::Tensor found = call(some(at::kDouble).to(device()));
    EXPECT_EQ(found.device(), device());
    EXPECT_TRUE(found.cpu().allclose(expected)) << found;
    EXPECT_EQ(runs, 0);
  }
};

TEST_F(DeclineTest, AVendorsCallsAreItsOwn) {
  const at::Tensor x = some(at::kFloat).to(device());
  for (const at::Tensor& result :
       {at::addmm(x, x, x), at::mm(x, x), at::atan2(x, x), at::erfinv(x), at::square(x),
        std::get<0>(at::native_layer_norm(x, {3}, {}, {}, 1e-5))}) {
    EXPECT_TRUE(result.cpu().equal(at::full({3, 3}, 7.0f)));
  }
  EXPECT_EQ(runs, 6);
}

TEST_F(DeclineTest, AStructuredOperatorInAllItsVariants) {
  compare([](const at::Tensor& x) { return at::addmm(x, x, x, 1, 2); });
  compare([](const at::Tensor& x) { return x.clone().addmm_(x, x); });
  compare([](const at::Tensor& x) {
    at::Tensor out = at::empty({0}, x.options());
    at::addmm_out(out, x[0], x, x);
    return out;
  });
  const at::Tensor x = some(at::kFloat);
  EXPECT_TRUE(at::addmm(x.to(device()), x.to(device()), x.to(device()), 2)
                  .cpu()
                  .allclose(at::addmm(x, x, x, 2)))
      << "by a number";
  EXPECT_EQ(runs, 0);
}

TEST_F(DeclineTest, OperatorsOfEverySignature) {
  compare([](const at::Tensor& x) { return at::mm(x, x); });
  compare([](const at::Tensor& x) { return at::erfinv(x); });
  compare([](const at::Tensor& x) {
    at::Tensor out = at::empty({3, 3}, x.options());
    EXPECT_TRUE(at::erfinv_out(out, x).is_same(out));
    return out;
  });
  compare([](const at::Tensor& x) {
    at::Tensor filled = x.clone();
    EXPECT_TRUE(filled.fill_(3).is_same(filled));
    return filled;
  });
  compare([](const at::Tensor& x) { return at::sum(x, 1) + at::sum(x, {0, 1}); });
  compare([](const at::Tensor& x) {
    const auto [out, mean, rstd] = at::native_layer_norm(x, {3}, x[0], {}, 1e-5);
    return at::cat({out, mean, rstd}, 1);
  });
  compare([](const at::Tensor& x) {
    std::vector<at::Tensor> list{x.clone(), x.clone()};
    at::_foreach_add_(list, 2);
    return list[1];
  });
}

TEST_F(DeclineTest, TorchComposesAgainWhatItComposed) {
  compare([](const at::Tensor& x) { return at::square(x); });
  compare([](const at::Tensor& x) { return x.repeat({2, 1}); });
}

TEST_F(DeclineTest, ErrorsAreThoseOfTheNextProvider) {
  const at::Tensor x = some(at::kDouble).to(device());
  EXPECT_THAT(error_of([&] { at::addmm(x, x, x.slice(0, 1)); }),
              HasSubstr("mat1 and mat2 shapes cannot be multiplied (3x3 and 2x3)"));
  EXPECT_THAT(error_of([&] { at::mm(x, x[0]); }), HasSubstr("mat2 must be a matrix"));
}

TEST_F(DeclineTest, WhatTheBackendExcludesIsComposedOrRefused) {
  compare([](const at::Tensor& x) { return at::atan2(x, x); });
  const at::Tensor x = some(at::kDouble).to(device());
  EXPECT_THAT(error_of([&] { at::masked_select(x, x > 0); }),
              HasSubstr("the backend excludes it from what Outback serves"));
}

TEST_F(DeclineTest, OperatorsOfOthers) {
  const at::Tensor x = some(at::kDouble).to(device());
  EXPECT_TRUE(call("decline_test::on_cpu", x).cpu().equal(x.cpu() + 1));
  EXPECT_THROW(call("decline_test::for_nobody", x), c10::NotImplementedError);
  EXPECT_THAT(error_of([&] { call("decline_test::for_nobody", x); }),
              HasSubstr("decline_test::for_nobody"));
}

TEST_F(DeclineTest, UnderAutograd) {
  for (const auto& operation : std::vector<std::function<at::Tensor(const at::Tensor&)>>{
           [](const at::Tensor& x) { return at::addmm(x, x, x); },
           [](const at::Tensor& x) { return at::square(x); },
           [](const at::Tensor& x) {
             return std::get<0>(at::native_layer_norm(x, {3}, x[0], {}, 1e-5));
           }}) {
    const auto gradient = [&](c10::Device on) {
      const at::Tensor x = some(at::kDouble).to(on).requires_grad_();
      (operation(x) * x.detach()).sum().backward();
      return x.grad();
    };
    EXPECT_TRUE(gradient(device()).cpu().allclose(gradient(c10::kCPU)));
  }
  EXPECT_EQ(runs, 0);
}

TEST_F(DeclineTest, UnderAutocast) {
  const at::Tensor x = some(at::kFloat).to(device());
  at::autocast::set_autocast_dtype(c10::DeviceType::PrivateUse1, at::kBFloat16);
  at::autocast::set_autocast_enabled(c10::DeviceType::PrivateUse1, true);
  const at::Tensor product = at::mm(x, x);
  at::autocast::set_autocast_enabled(c10::DeviceType::PrivateUse1, false);
  at::autocast::clear_cache();
  EXPECT_EQ(product.scalar_type(), at::kBFloat16);
  EXPECT_TRUE(product.cpu().to(at::kFloat).allclose(x.cpu().mm(x.cpu()), 0.02));
  EXPECT_EQ(runs, 0);
}

TEST_F(DeclineTest, InACaptureTheCpusKernelsAreRecorded) {
  const c10::Stream before = core::exchange_stream(core::new_stream(0, 0));
  const at::Tensor x = some(at::kDouble).to(device());
  at::Tensor product, squared, normalized, filled = at::zeros_like(x);
  core::device_graph graph(/*keep_graph=*/false);
  graph.capture_begin();
  product = at::addmm(x, x, x);
  squared = at::square(x);
  normalized = std::get<0>(at::native_layer_norm(x, {3}, {}, {}, 1e-5));
  filled.fill_(5);
  call("decline_test::on_cpu", x);
  graph.capture_end();
  x.copy_(some(at::kDouble) * 3);
  filled.zero_();
  graph.replay();
  core::synchronize_device(0);
  const at::Tensor y = some(at::kDouble) * 3;
  EXPECT_TRUE(product.cpu().allclose(at::addmm(y, y, y)));
  EXPECT_TRUE(squared.cpu().allclose(y * y));
  EXPECT_TRUE(normalized.cpu().allclose(std::get<0>(at::native_layer_norm(y, {3}, {}, {}, 1e-5))));
  EXPECT_TRUE(filled.cpu().equal(at::full({3, 3}, 5, at::kDouble)));
  EXPECT_EQ(runs, 0);
  core::exchange_stream(before);
}

TEST_F(DeclineTest, AKernelThatComesLater) {
  torch::Library later(torch::Library::IMPL, "aten", c10::DispatchKey::PrivateUse1, __FILE__,
                       __LINE__);
  later.impl("bmm", &kernels::when<at::_ops::bmm, &are_floats, &mm>::run);
  compare([](const at::Tensor& x) { return at::bmm(x.view({1, 3, 3}), x.view({1, 3, 3})); });
}

}  // namespace
}  // namespace outback::test
