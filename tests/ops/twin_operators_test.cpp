// Operators on a device with a twin (core/twin/twin.h), and on one of the same backend without: who
// serves which, and what is the twin's own there. The first device of this program has a twin,
// HPU's only device, and on the second one operators run over copies.
#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <ATen/ops/_fused_sdp_choice.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/record_function.h>
#include <c10/core/GradMode.h>
#include <gmock/gmock.h>
#include <torch/csrc/autograd/function.h>
#include <torch/library.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend_template/core/interfaces/generator.h"
#include "backend_template/core/memory/device_allocator.h"
#include "backend_template/core/streams/stream.h"
#include "backend_template/core/twin/twin.h"
#include "backend_template/ops/cudnn/cudnn_layers.h"
#include "backend_template/ops/in_place/alias.h"
#include "backend_template/ops/in_place/twin_target.h"
#include "backend_template/ops/own/interop.h"
#include "outback/backend.h"
#include "outback/kernels/decline.h"
#include "tests/ops/hpu_kernels.h"
#include "tests/twin/hpu.h"

namespace outback::test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

at::Tensor doubled(const at::Tensor& x) {
  return x + x;
}

at::Tensor doubled_on_hpu(const at::Tensor& x) {
  TORCH_CHECK(x.device().type() == hpu, "not on HPU");
  return x + x;
}

// A driver's error, of work that another operator may have enqueued.
at::Tensor lost_on_hpu(const at::Tensor& /*x*/) {
  throw c10::AcceleratorError({__func__, __FILE__, 0}, 700, "HPU error: the device is lost");
}

// What cuDNN's layers were called with, and a stand-in for them.
struct cudnn_call {
  int64_t mode, weights, width, projection;
  at::ScalarType dtype;
  std::vector<int64_t> batch_sizes;
  const void* state;
  int64_t seed;
};
std::vector<cudnn_call> cudnn_calls;

using optional_tensor = std::optional<at::Tensor>;

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor> cudnn_rnn_on_hpu(
    const at::Tensor& input, at::TensorList weights, int64_t in_layer, const optional_tensor&,
    const at::Tensor& hx, const optional_tensor& cx, int64_t mode,
    c10::SymInt width,       // NOLINT(performance-unnecessary-value-param): as the schema
    c10::SymInt projection,  // NOLINT(performance-unnecessary-value-param)
    int64_t, bool, double, bool, bool, c10::SymIntArrayRef batch_sizes,
    const optional_tensor& state) {
  TORCH_CHECK(input.device().type() == hpu && weights[0].device().type() == hpu, "not on HPU");
  cudnn_calls.push_back({mode, in_layer, width.expect_int(), projection.expect_int(),
                         weights[0].scalar_type(), c10::asIntArrayRefUnchecked(batch_sizes).vec(),
                         state ? state->const_data_ptr() : nullptr,
                         state ? state->to(at::kLong).cpu()[0].item<int64_t>() : 0});
  TORCH_WARN("RNN module weights are not part of single contiguous chunk of memory.");
  TORCH_WARN("another warning");
  return {hx.clone(), hx.clone(), cx ? cx->clone() : hx.clone(), hx.clone(), hx.clone()};
}

bool refuses_to_seed = false;

// As the seed's lowest byte.
at::Tensor dropout_state_on_hpu(double, bool, int64_t seed, std::optional<at::ScalarType> dtype,
                                std::optional<at::Layout>, std::optional<at::Device> on,
                                std::optional<bool>) {
  TORCH_CHECK(!refuses_to_seed, "no seeds today");
  return at::full({8}, seed & 255, at::TensorOptions().device(on).dtype(dtype));
}

c10::Device device(int index) {
  return c10::Device(c10::DeviceType::PrivateUse1, static_cast<c10::DeviceIndex>(index));
}
const c10::Device twin(hpu, 0);

at::Tensor some(c10::Device on, at::IntArrayRef size = {4, 6}) {
  return at::arange(-12, -12 + c10::multiply_integers(size), at::kFloat).view(size).div(8).to(on);
}

class TwinOperatorsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    register_hpu(1);
    register_hpu_kernels({"aten::gelu", "aten::frexp"});
    register_hpu_kernel("aten::_foreach_add", "Scalar");
    register_hpu_kernel("aten::_fused_rms_norm", "");
    static auto& operators =
        *new torch::Library(torch::Library::DEF, "twin_test", std::nullopt, __FILE__, __LINE__);
    operators.def("on_hpu(Tensor x) -> Tensor", torch::dispatch(c10::kHPU, &doubled_on_hpu));
    operators.def("lost(Tensor x) -> Tensor", torch::dispatch(c10::kHPU, &lost_on_hpu));
    operators.def("on_cpu(Tensor x) -> Tensor", torch::dispatch(c10::kCPU, &doubled));
    static auto& aten = *new torch::Library(torch::Library::IMPL, "aten", c10::DispatchKey::HPU,
                                            __FILE__, __LINE__);
    aten.impl("_cudnn_rnn", &cudnn_rnn_on_hpu);
    aten.impl("_cudnn_init_dropout_state", &dropout_state_on_hpu);
    register_backend({.name = "acme", .runtime = &hpu_runtime()});
  }
  void TearDown() override { set_fallback_mode(fallback_mode::allow); }

  // Runs on both devices, and compares with the CPU.
  static void on_both(const std::function<at::Tensor(c10::Device)>& run) {
    const at::Tensor expected = run(c10::Device(c10::kCPU));
    for (const int index : {0, 1}) {
      const at::Tensor result = run(device(index));
      EXPECT_EQ(result.device(), device(index));
      EXPECT_TRUE(at::allclose(result.cpu(), expected, 1e-5, 1e-6));
    }
  }

  // How many kernels of the twin `run` starts.
  static int kernels_of(const std::function<void()>& run) {
    const int before = hpu_kernels_run();
    run();
    return hpu_kernels_run() - before;
  }

  // The operators that `run` calls on this thread, by their names.
  static std::vector<std::string> operators_of(const std::function<void()>& run) {
    static thread_local std::vector<std::string> called;
    called.clear();
    const at::CallbackHandle handle = at::addThreadLocalCallback(at::RecordFunctionCallback(
        [](const at::RecordFunction& function) -> std::unique_ptr<at::ObserverContext> {
          called.emplace_back(function.name());
          return nullptr;
        }));
    run();
    at::removeCallback(handle);
    return called;
  }

  static void refused(const std::function<void()>& run, const char* text) {
    try {
      run();
      ADD_FAILURE() << "accepted";
    } catch (const c10::Error& error) {
      EXPECT_THAT(error.what_without_backtrace(), HasSubstr(text));
    }
  }
};

at::Tensor call(const char* name, const at::Tensor& x) {
  static auto& dispatcher = c10::Dispatcher::singleton();
  return dispatcher.findSchemaOrThrow(name, "").typed<at::Tensor(const at::Tensor&)>().call(x);
}

// ---- Who serves an operator

TEST_F(TwinOperatorsTest, TheTwinServesItsDeviceAlone) {
  const at::Tensor x = some(device(0)), y = some(device(1));
  EXPECT_EQ(core::twin_of(0), twin);
  EXPECT_EQ(core::twin_of(1), std::nullopt);
  EXPECT_EQ(kernels_of([&] { at::add(x, x); }), 1) << "a fast path of the CPU's";
  EXPECT_EQ(kernels_of([&] { at::mm(x, x.t()); }), 1);
  EXPECT_EQ(kernels_of([&] { at::bitwise_not(x.to(at::kInt)); }), 2) << "boxed";
  EXPECT_EQ(kernels_of([&] { x.clone().fill_(1).zero_(); }), 3);
  EXPECT_EQ(kernels_of([&] { at::arange(4, at::device(device(0))); }), 1) << "no tensor";
  EXPECT_EQ(kernels_of([&] { at::add(y, y), at::mm(y, y.t()), y.clone().fill_(1).zero_(); }), 0);
}

TEST_F(TwinOperatorsTest, TheFallbackModeDoesNotJudgeTheTwin) {
  const at::Tensor x = some(device(0)), y = some(device(1));
  set_fallback_mode(fallback_mode::error);
  EXPECT_NO_THROW(at::add(x, x).cumsum(0));
  EXPECT_THROW(at::add(y, y), c10::NotImplementedError);
  EXPECT_THROW(at::gelu(x), c10::NotImplementedError) << "the twin has no kernel";
}

TEST_F(TwinOperatorsTest, WhatTheTwinLacksRunsOverCopies) {
  on_both([](auto d) { return at::gelu(some(d)); });
  on_both([](auto d) { return std::get<0>(at::frexp(some(d))); });
}

TEST_F(TwinOperatorsTest, WhatOnlyTheTwinHasIsComposedElsewhere) {
  const at::Tensor x = some(device(0)), y = some(device(1));
  on_both([](auto d) { return at::_foreach_add({some(d), some(d)}, 2)[1]; });
  EXPECT_EQ(kernels_of([&] { at::_foreach_add({x, x, x}, 2); }), 1);
  set_fallback_mode(fallback_mode::error);
  refused([&] { at::_foreach_add({y}, 2); }, "aten::add.Tensor");
}

TEST_F(TwinOperatorsTest, OperatorsOfOtherLibraries) {
  const at::Tensor x = some(device(0)), y = some(device(1));
  EXPECT_TRUE(call("twin_test::on_hpu", x).cpu().equal(doubled(some(c10::kCPU))));
  refused([&] { call("twin_test::on_hpu", y); }, "is not implemented for acme");
  on_both([](auto d) { return call("twin_test::on_cpu", some(d)); });
  EXPECT_EQ(kernels_of([&] { call("twin_test::on_cpu", x); }), 0);
}

TEST_F(TwinOperatorsTest, ConvolutionsAndTheirDerivatives) {
  on_both([](auto d) {
    const at::Tensor x = some(d, {1, 2, 5, 5}).requires_grad_();
    const at::Tensor weight = some(d, {3, 2, 3, 3}).requires_grad_();
    const at::Tensor bias = some(d, {3}).requires_grad_();
    at::conv2d(x, weight, bias).square().sum().backward();
    return at::cat({x.grad().flatten(), weight.grad().flatten(), bias.grad()});
  });
}

TEST_F(TwinOperatorsTest, NormsAndRecurrentLayers) {
  on_both([](auto d) {
    const at::Tensor mean = at::zeros({4}, at::device(d)), var = at::ones({4}, at::device(d));
    const at::Tensor x = some(d, {3, 4}).requires_grad_();
    at::batch_norm(x, {}, {}, mean, var, true, 0.1, 1e-5, true).pow(3).sum().backward();
    return at::cat({x.grad().flatten(), mean, var});
  });
  on_both([](auto d) {
    const at::Tensor state = at::zeros({1, 2, 3}, at::device(d));
    const std::vector<at::Tensor> weights{some(d, {12, 4}), some(d, {12, 3}), some(d, {12}),
                                          some(d, {12})};
    const auto [out, h, c] =
        at::lstm(some(d, {5, 2, 4}), {state, state}, weights, true, 1, 0, false, false, false);
    return at::cat({out.flatten(), h.flatten(), c.flatten()});
  });
  on_both([](auto d) {
    const std::vector<at::Tensor> weights{some(d, {9, 4}), some(d, {9, 3}), some(d, {9}),
                                          some(d, {9})};
    return std::get<0>(at::gru(some(d, {5, 2, 4}), at::zeros({1, 2, 3}, at::device(d)), weights,
                               true, 1, 0, false, false, false));
  });
}

// ---- cuDNN's recurrent layers

std::tuple<at::Tensor, at::Tensor, at::Tensor> run_lstm(bool train, int64_t projection = 3,
                                                        const at::Tensor& batch_sizes = {}) {
  const std::vector<at::Tensor> weights(5, some(device(0), {12, 4}).requires_grad_());
  return ops::run_cudnn_layers(
      {ops::cudnn_cell::lstm, true, 1, 0.5, train, false, false}, some(device(0), {5, 2, 4}),
      batch_sizes, some(device(0), {1, 2, projection}), some(device(0), {1, 2, 3}), weights);
}

TEST_F(TwinOperatorsTest, CudnnsLayersGetWhatTheTwinsOwnGet) {
  cudnn_calls.clear();
  run_lstm(false);
  const auto [output, hy, cy] = run_lstm(false, 2, at::tensor({2, 1, 1}, at::kLong));
  ASSERT_EQ(cudnn_calls.size(), 2);
  EXPECT_EQ(cudnn_calls[0].mode, 2);
  EXPECT_EQ(cudnn_calls[0].weights, 4);
  EXPECT_EQ(cudnn_calls[0].projection, 0);
  EXPECT_TRUE(cudnn_calls[0].batch_sizes.empty());
  EXPECT_EQ(cudnn_calls[1].weights, 5) << "that of the projection, too";
  EXPECT_EQ(cudnn_calls[1].width, 3);
  EXPECT_EQ(cudnn_calls[1].projection, 2);
  EXPECT_THAT(cudnn_calls[1].batch_sizes, ElementsAre(2, 1, 1));
  EXPECT_EQ(output.device(), device(0));
  EXPECT_THAT(output.grad_fn()->name(), HasSubstr("CudnnRnn"));
  refused([] { run_lstm(false, 3, at::ones({1, 1}, at::kLong)); }, "should be 1D");
  refused([] { run_lstm(false, 3, some(device(0))[0]); }, "should be on CPU");
}

TEST_F(TwinOperatorsTest, CudnnsLayersRunInHalfUnderAutocast) {
  cudnn_calls.clear();
  at::autocast::set_autocast_enabled(c10::DeviceType::PrivateUse1, true);
  EXPECT_EQ(std::get<0>(run_lstm(false)).scalar_type(), at::kHalf);
  at::autocast::set_autocast_enabled(c10::DeviceType::PrivateUse1, false);
  at::autocast::clear_cache();
  EXPECT_EQ(cudnn_calls.back().dtype, at::kHalf);
}

TEST_F(TwinOperatorsTest, CudnnsDropoutGoesOnUntilItsGeneratorIsSeeded) {
  const auto seed = [](uint64_t with) {
    core::seed_default_generators(with);
    at::rand({100}, at::device(device(0)));
  };
  cudnn_calls.clear();
  seed(1);
  run_lstm(false);
  for (int i = 0; i < 2; ++i) run_lstm(true);
  seed(1);
  run_lstm(true);
  seed(2);
  run_lstm(true);
  EXPECT_EQ(cudnn_calls[0].state, nullptr) << "no training, no dropout";
  for (const size_t i : {2, 3, 4}) EXPECT_EQ(cudnn_calls[i].state, cudnn_calls[1].state);
  EXPECT_EQ(cudnn_calls[2].seed, cudnn_calls[1].seed);
  EXPECT_EQ(cudnn_calls[3].seed, cudnn_calls[1].seed);
  EXPECT_NE(cudnn_calls[4].seed, cudnn_calls[1].seed);
}

TEST_F(TwinOperatorsTest, CudnnsDropoutKeepsItsMemoryWhenSeedingFails) {
  cudnn_calls.clear();
  run_lstm(true);
  core::seed_default_generators(3);
  refuses_to_seed = true;
  refused([] { run_lstm(true); }, "no seeds today");
  refuses_to_seed = false;
  run_lstm(true);
  EXPECT_EQ(cudnn_calls[1].state, cudnn_calls[0].state);
}

TEST_F(TwinOperatorsTest, CudnnsWarningOfScatteredWeightsIsKeptBack) {
  struct : c10::WarningHandler {
    void process(const c10::Warning& warning) override { texts.push_back(warning.msg()); }
    std::vector<std::string> texts;
  } heard;
  const c10::WarningUtils::WarningHandlerGuard guard(&heard);
  run_lstm(false);
  EXPECT_THAT(heard.texts, ElementsAre("another warning"));
}

TEST_F(TwinOperatorsTest, CountsOfIntegers) {
  const at::Tensor x = some(device(1)).to(at::kInt);
  EXPECT_EQ(at::histc(x, 4).sum().item<int>(), 24);
}

TEST_F(TwinOperatorsTest, NestedTensorsAndTheirParts) {
  const auto nested = [](c10::Device d) {
    return at::_nested_tensor_from_tensor_list({some(d), some(d).narrow(0, 0, 2)});
  };
  const at::Tensor x = nested(device(0));
  EXPECT_GT(kernels_of([&] { at::mul(x, x); }), 0);
  on_both([&](auto d) { return at::nested_to_padded_tensor(nested(d).mul(nested(d)), 0); });
}

TEST_F(TwinOperatorsTest, WhatOnlyTheTwinHasKeepsItsDerivative) {
  const auto norm = [](const at::Tensor& x) { return at::rms_norm(x, {6}, {}, 1e-5); };
  const at::Tensor x = some(device(0)).requires_grad_(), y = some(device(1)).requires_grad_();
  EXPECT_EQ(kernels_of([&] { norm(x); }), 1);
  EXPECT_THAT(norm(x).grad_fn()->name(), HasSubstr("FusedRmsNorm"));
  norm(y).pow(3).sum().backward();
  const at::Tensor expected = some(c10::kCPU).requires_grad_();
  norm(expected).pow(3).sum().backward();
  EXPECT_TRUE(at::allclose(y.grad().cpu(), expected.grad(), 1e-5, 1e-6));
}

TEST_F(TwinOperatorsTest, WhatIsComposedForTheTwinIsNoFallback) {
  set_fallback_mode(fallback_mode::error);
  EXPECT_NO_THROW(at::pixel_shuffle(some(device(0), {4, 2, 3}), 2)) << "the CPU has a kernel";
}

TEST_F(TwinOperatorsTest, ANumberForAMaskDoesNotCountTheMask) {
  const auto assign = [](c10::Device d, bool is_strict) {
    at::Tensor x = some(d);
    const at::Tensor mask = x > 0, row = x.select(1, 1) > 0, number = some(d)[0][1];
    const auto put = [&] {
      x.index_put_({mask}, number);
      x.index_put_({at::indexing::Slice(), x[0] < 0}, number);
      x.index_put_({row}, number);
    };
    const std::vector<std::string> called = operators_of(put);
    if (is_strict) {
      EXPECT_EQ(std::ranges::count(called, "aten::where"), 3);
      EXPECT_THAT(called, Not(Contains("aten::_index_put_impl_"))) << "which counts";
    }
    return x;
  };
  EXPECT_TRUE(assign(device(0), true).cpu().equal(assign(c10::Device(c10::kCPU), false)));
}

// ---- Errors

TEST_F(TwinOperatorsTest, ADriversErrorNamesOperatorAndDevice) {
  try {
    call("twin_test::lost", some(device(0)));
    ADD_FAILURE() << "accepted";
  } catch (const c10::AcceleratorError& error) {
    EXPECT_EQ(error.get_error_code(), 700);
    EXPECT_STREQ(error.what_without_backtrace(),
                 "HPU error: the device is lost (in twin_test::lost on acme:0)");
  }
}

// ---- Attention

TEST_F(TwinOperatorsTest, TheTwinChoosesTheAttention) {
  const at::Tensor x = some(device(0), {1, 2, 4, 8});
  EXPECT_EQ(kernels_of([&] { at::_fused_sdp_choice(x, x, x); }), 1);
  EXPECT_EQ(at::_fused_sdp_choice(x, x, x), at::_fused_sdp_choice(x.cpu(), x.cpu(), x.cpu()));
  on_both([](auto d) {
    const at::Tensor q = some(d, {1, 2, 4, 8}).requires_grad_();
    at::scaled_dot_product_attention(q, q, q).sum().backward();
    return q.grad();
  });
}

TEST_F(TwinOperatorsTest, AShapeAliasHasNoMemoryAndAsksForNone) {
  const auto storage = c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(), 96, c10::DataPtr(nullptr, device(0)), nullptr, false);
  at::Tensor x = at::Tensor(c10::make_intrusive<c10::TensorImpl>(
      c10::Storage(storage), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
      caffe2::TypeMeta::Make<float>()));
  x.unsafeGetTensorImpl()->set_sizes_and_strides(at::IntArrayRef{6, 4}, at::IntArrayRef{1, 6});
  x.requires_grad_();
  const at::Tensor alias = ops::make_shape_alias(ops::target_of(0), x);
  EXPECT_EQ(alias.device(), twin);
  EXPECT_EQ(alias.sizes(), x.sizes());
  EXPECT_EQ(alias.strides(), x.strides());
  EXPECT_TRUE(alias.requires_grad());
}

// ---- Random numbers

TEST_F(TwinOperatorsTest, RandomNumbersAreDrawnFromTheTwinsGenerator) {
  const at::Generator& theirs = at::globalContext().defaultGenerator(twin);
  const uint64_t before = theirs.get_offset();
  at::rand({4}, at::device(device(0)));
  EXPECT_GT(theirs.get_offset(), before);
  EXPECT_GT(kernels_of([&] { at::dropout(some(device(0)), 0.5, true); }), 0);
  on_both([](auto d) { return at::dropout(at::zeros({8}, at::device(d)), 0.5, true); });
  const std::optional<at::Generator> ours = core::default_generator(0);
  refused([&] { some(twin).normal_(0, 1, ours); },
          "Expected a generator of hpu:0 but found one of");
}

// ---- Copies

TEST_F(TwinOperatorsTest, CopiesInAllDirections) {
  const std::vector<c10::Device> all{c10::Device(c10::kCPU), twin, device(0), device(1)};
  for (const c10::Device from : all) {
    for (const c10::Device to : all) {
      SCOPED_TRACE(::testing::Message() << from << " to " << to);
      const at::Tensor source = some(c10::kCPU).to(from);
      EXPECT_TRUE(
          source.to(to, /*non_blocking=*/false, /*copy=*/true).cpu().equal(some(c10::kCPU)));
      EXPECT_EQ(source.to(to).device(), to);
      EXPECT_TRUE(source.to(to, at::kDouble).cpu().equal(some(c10::kCPU).to(at::kDouble)));
      at::Tensor target = at::zeros({6, 4}, at::device(to)).t();
      target.copy_(source, /*non_blocking=*/true);
      EXPECT_TRUE(target.cpu().equal(some(c10::kCPU)));
    }
  }
}

TEST_F(TwinOperatorsTest, ReadingOneElement) {
  const at::Tensor x = some(device(0));
  EXPECT_EQ(x[1][2].item<float>(), -0.5);
  EXPECT_EQ(some(device(1))[1][2].item<float>(), -0.5);
}

// ---- Mixtures

TEST_F(TwinOperatorsTest, TensorsOfTheTwinAreStrangers) {
  const at::Tensor ours = some(device(0)), theirs = some(twin);
  constexpr const char* text = "Expected all tensors to be on the same device";
  refused([&] { at::add(ours, theirs); }, text);
  refused([&] { at::add(theirs, ours); }, text);
  refused([&] { at::cat({ours, theirs}); }, text);
  refused([&] { at::_foreach_add({ours, theirs}, 1); }, text);
  refused([&] { at::add(ours, some(device(1))); }, text);
  refused([&] { at::where(ours > 0, ours, theirs); }, text);
}

TEST_F(TwinOperatorsTest, ListsOfTensorsOfSeveralDevicesAreComposed) {
  const at::Tensor x = some(device(0)), y = some(device(1)), on_cpu = some(c10::kCPU);
  const at::Tensor expected = on_cpu + 2;
  for (const std::vector<at::Tensor>& list :
       std::vector<std::vector<at::Tensor>>{{x, on_cpu}, {on_cpu, x}, {x, y}, {y, x}}) {
    const std::vector<at::Tensor> sums = at::_foreach_add(list, 2);
    for (size_t i = 0; i < list.size(); ++i) {
      EXPECT_EQ(sums[i].device(), list[i].device());
      EXPECT_TRUE(sums[i].cpu().equal(expected));
    }
  }
  const at::Tensor there = at::zeros_like(x), here = at::zeros_like(on_cpu);
  at::_foreach_copy_({there, here}, {on_cpu, x});
  EXPECT_TRUE(there.cpu().equal(on_cpu));
  EXPECT_TRUE(here.equal(on_cpu));
}

// ---- Kernels of a vendor's that decline a call

at::Tensor declined_erfc(const at::Tensor& self) {
  return kernels::decline<at::_ops::erfc>(self);
}

using rms_norm_results = std::tuple<at::Tensor, at::Tensor>;
rms_norm_results declined_rms_norm(const at::Tensor& input, at::IntArrayRef shape,
                                   const optional_tensor& weight, std::optional<double> eps) {
  return kernels::decline<at::_ops::_fused_rms_norm>(input, shape, weight, eps);
}

TEST_F(TwinOperatorsTest, ACallThatAVendorDeclinesIsTheTwins) {
  torch::Library vendors(torch::Library::IMPL, "aten", c10::DispatchKey::PrivateUse1, __FILE__,
                         __LINE__);
  vendors.impl("erfc", &declined_erfc);
  vendors.impl("_fused_rms_norm", &declined_rms_norm);
  for (const int index : {0, 1}) {
    const at::Tensor x = some(device(index)), on_cpu = some(c10::kCPU);
    const int before = hpu_kernels_run();
    const at::Tensor inverse = at::erfc(x);
    EXPECT_EQ(hpu_kernels_run() > before, index == 0);
    EXPECT_TRUE(inverse.cpu().equal(at::erfc(on_cpu)));
    const at::Tensor normed = at::rms_norm(x, {6}, x[0], 1e-5);
    EXPECT_EQ(normed.device(), device(index));
    EXPECT_TRUE(normed.cpu().allclose(at::rms_norm(on_cpu, {6}, on_cpu[0], 1e-5)));
  }
}

// ---- Autocast

TEST_F(TwinOperatorsTest, AutocastIsOursAndNotTheTwins) {
  const at::Tensor x = some(device(0));
  for (const c10::DeviceType type : {c10::DeviceType::PrivateUse1, hpu}) {
    at::autocast::set_autocast_enabled(type, true);
    at::autocast::set_autocast_dtype(type, at::kBFloat16);
  }
  EXPECT_EQ(at::mm(x, x.t()).scalar_type(), at::kBFloat16);
  at::autocast::set_autocast_enabled(c10::DeviceType::PrivateUse1, false);
  EXPECT_EQ(at::mm(x, x.t()).scalar_type(), at::kFloat);
  at::autocast::set_autocast_enabled(hpu, false);
  at::autocast::clear_cache();
}

// ---- Sharing memory

TEST_F(TwinOperatorsTest, BothSidesSeeWhatOneWrites) {
  const at::Tensor ours = some(device(0)).t();
  const at::Tensor theirs = ops::as_twin(ours, hpu);
  EXPECT_EQ(theirs.device(), twin);
  EXPECT_EQ(theirs.strides(), ours.strides());
  EXPECT_EQ(theirs.const_data_ptr(), ours.const_data_ptr());
  const uint32_t version = ours._version();
  theirs.fill_(3);
  EXPECT_GT(ours._version(), version);
  EXPECT_EQ(ours[1][2].item<float>(), 3);
  const at::Tensor back = ops::from_twin(theirs, hpu);
  EXPECT_EQ(back.device(), device(0));
  back.fill_(4);
  EXPECT_EQ(theirs.cpu()[1][2].item<float>(), 4);
  EXPECT_EQ(ours.cpu()[0][0].item<float>(), 4);
}

TEST_F(TwinOperatorsTest, SharedMemoryLivesAsLongAsOneSide) {
  const int freed = hpu_counted().freed;
  at::Tensor ours = ops::from_twin(at::ones({5}, at::device(twin)), hpu);
  at::Tensor theirs = ops::as_twin(ours, hpu);
  ours.reset();
  EXPECT_EQ(theirs.cpu().sum().item<float>(), 5);
  at::Tensor grown = ops::from_twin(theirs, hpu);
  grown.resize_({100});
  EXPECT_EQ(theirs.sizes(), at::IntArrayRef{5});
  theirs.reset();
  core::synchronize_device(0);
  core::device_allocator().emptyCache();
  EXPECT_GT(hpu_counted().freed, freed);
}

TEST_F(TwinOperatorsTest, StorageThatIsSharedIsNotResized) {
  at::Tensor theirs = at::ones({5}, at::device(twin));
  const at::Tensor ours = ops::from_twin(theirs, hpu);
  refused([&] { theirs.resize_({100}); }, "not resizable");
  EXPECT_EQ(ours.cpu().sum().item<float>(), 5);
}

TEST_F(TwinOperatorsTest, RecordStreamReachesTheTwinsMemory) {
  const at::Tensor theirs = at::ones({5}, at::device(twin));
  const at::Tensor ours = ops::from_twin(theirs, hpu);
  const c10::Stream stream = core::new_stream(0, 0);
  hpu_recorded().clear();
  ours.record_stream(stream);
  ASSERT_EQ(hpu_recorded().size(), 1);
  EXPECT_EQ(hpu_recorded()[0].first, theirs.const_data_ptr());
}

TEST_F(TwinOperatorsTest, RecordStreamOfWhatWasLentReachesTheTwinsMemory) {
  const at::Tensor ours = some(device(0));
  const at::Tensor theirs = ops::as_twin(ours, hpu), back = ops::from_twin(theirs, hpu);
  // The twin's allocator takes no note of a DataPtr that is not its own.
  EXPECT_EQ(theirs.storage().data_ptr().get_deleter(),
            at::ones({5}, at::device(twin)).storage().data_ptr().get_deleter());
  EXPECT_TRUE(ops::as_twin(ours[1], hpu).is_alias_of(theirs));
  const c10::Stream stream = core::new_stream(0, 0);
  for (const at::Tensor& each : {ours, back}) {
    hpu_recorded().clear();
    at::Tensor(each).record_stream(stream);
    ASSERT_EQ(hpu_recorded().size(), 1);
    EXPECT_EQ(hpu_recorded()[0].first, ours.const_data_ptr());
  }
}

TEST_F(TwinOperatorsTest, StorageThatIsLentIsNotResizedByTheTwin) {
  const at::Tensor ours = at::ones({5}, at::device(device(0)));
  const at::Tensor theirs = ops::as_twin(ours, hpu);
  refused([&] { theirs.resize_({100}); }, "not resizable");
  EXPECT_EQ(ours.cpu().sum().item<float>(), 5);
}

TEST_F(TwinOperatorsTest, SharingIsRefusedWhereThereIsNoTwin) {
  const at::Tensor x = some(device(0));
  refused([&] { ops::as_twin(some(device(1)), hpu); }, "acme:1 shares no memory with HPU");
  refused([&] { ops::as_twin(x, c10::kCUDA); }, "acme:0 shares no memory with CUDA");
  refused([&] { ops::as_twin(some(c10::kCPU), hpu); }, "expected a tensor of acme, got one on cpu");
  refused([&] { ops::from_twin(some(c10::kCPU), hpu); },
          "expected a tensor of HPU, got one on cpu");
  refused([&] { ops::as_twin(x.to_sparse(), hpu); }, "expected a strided tensor");
  refused([&] { ops::as_twin(x.clone().requires_grad_(), hpu); }, "detach() it");
  const c10::NoGradGuard off;
  EXPECT_FALSE(ops::as_twin(x.clone().requires_grad_(), hpu).requires_grad());
}

}  // namespace
}  // namespace outback::test
