// Loops, as kernels get them. Values against the CPU's are the Python tests' part.
#include "outback/kernels/elementwise.h"

#include <ATen/ATen.h>
#include <ATen/TensorIterator.h>
#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "backend_template/core/streams/stream.h"
#include "tests/core/test_backend.h"
#include "tests/kernels/error_of.h"

namespace outback::test {
namespace {

using kernels::elementwise;
using kernels::elementwise_loop;
using kernels::elementwise_out;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A loop outlives no call, so this is what is looked at of it.
struct seen_loop {
  std::vector<int64_t> shape;
  std::vector<std::vector<int64_t>> strides;
  std::vector<const void*> data;
  std::vector<c10::ScalarType> dtypes;
  std::vector<double> numbers;
  int64_t numel;
  c10::ScalarType dtype;
  bool is_contiguous;
  outback_stream stream;
};

class ElementwiseTest : public BackendTest {
 protected:
  static at::Tensor made(at::IntArrayRef size, c10::ScalarType dtype = at::kFloat) {
    return at::rand(size).mul_(100).to(dtype).to(device(0));
  }

  void look(const elementwise_loop& loop) {
    seen_loop seen{.shape = loop.shape.vec(),
                   .strides = {},
                   .data = {},
                   .dtypes = {},
                   .numbers = {},
                   .numel = loop.numel,
                   .dtype = loop.dtype,
                   .is_contiguous = loop.is_contiguous,
                   .stream = loop.stream.handle()};
    for (const kernels::loop_operand& operand : loop.operands) {
      seen.strides.push_back(operand.strides.vec());
      seen.data.push_back(operand.data);
      seen.dtypes.push_back(operand.dtype);
      seen.numbers.push_back(operand.data == nullptr ? operand.number.toDouble() : 0);
    }
    loops.push_back(seen);
  }

  // The only loop of such a call.
  seen_loop loop_of(at::TensorList inputs, const kernels::elementwise_options& options = {}) {
    loops.clear();
    result = elementwise(inputs, [this](const elementwise_loop& loop) { look(loop); }, options);
    EXPECT_EQ(loops.size(), 1u);
    return loops.at(0);
  }

  std::vector<seen_loop> loops;
  at::Tensor result;
};

void nothing(const elementwise_loop& /*loop*/) {}

TEST_F(ElementwiseTest, ContiguousTensorsAreOneDimension) {
  const at::Tensor x = made({4, 5});
  const seen_loop loop = loop_of({x, x});
  EXPECT_THAT(loop.shape, ElementsAre(20));
  EXPECT_THAT(loop.strides, ElementsAre(ElementsAre(4), ElementsAre(4), ElementsAre(4)));
  EXPECT_THAT(loop.data, ElementsAre(result.data_ptr(), x.data_ptr(), x.data_ptr()));
  EXPECT_TRUE(loop.is_contiguous);
  EXPECT_EQ(loop.numel, 20);
  EXPECT_EQ(result.device(), device(0));
}

TEST_F(ElementwiseTest, TransposedTensorsAreOneDimensionToo) {
  const at::Tensor x = made({4, 5}).t();
  EXPECT_TRUE(loop_of({x, x}).is_contiguous);
  EXPECT_EQ(result.strides(), x.strides());
}

TEST_F(ElementwiseTest, BroadcastOperandsHaveStridesOfZero) {
  const seen_loop loop = loop_of({made({4, 5}), made({5})});
  EXPECT_THAT(loop.shape, ElementsAre(5, 4)) << "the fastest dimension comes first";
  EXPECT_THAT(loop.strides, ElementsAre(ElementsAre(4, 20), ElementsAre(4, 20), ElementsAre(4, 0)));
  EXPECT_FALSE(loop.is_contiguous);
}

TEST_F(ElementwiseTest, ASingleElementHasADimension) {
  const seen_loop loop = loop_of({made({})});
  EXPECT_THAT(loop.shape, ElementsAre(1));
  EXPECT_THAT(loop.strides, ElementsAre(ElementsAre(0), ElementsAre(0)));
  EXPECT_TRUE(loop.is_contiguous);
}

TEST_F(ElementwiseTest, EmptyTensorsNeedNoKernel) {
  result = elementwise({made({0, 3}), made({3})},
                       [](const elementwise_loop&) { FAIL() << "there is nothing to do"; });
  EXPECT_EQ(result.sizes(), at::IntArrayRef({0, 3}));
}

TEST_F(ElementwiseTest, OperandsOfAnotherDtypeAreCast) {
  const at::Tensor x = made({6});
  const at::Tensor y = made({6}, at::kInt);
  const seen_loop loop = loop_of({x, y});
  EXPECT_THAT(loop.dtypes, ElementsAre(at::kFloat, at::kFloat, at::kFloat));
  EXPECT_EQ(loop.data[1], x.data_ptr());
  EXPECT_NE(loop.data[2], y.data_ptr());
  EXPECT_TRUE(loop.is_contiguous);
}

TEST_F(ElementwiseTest, ACastOperandKeepsItsValues) {
  const at::Tensor y = at::arange(5, at::kInt).to(device(0));
  elementwise({made({5}), y}, [](const elementwise_loop& loop) {
    for (int i = 0; i < 5; ++i) EXPECT_EQ(static_cast<float*>(loop.operands[2].data)[i], i);
  });
}

TEST_F(ElementwiseTest, ACpuScalarIsPutIntoDeviceMemory) {
  elementwise({made({5}), at::scalar_tensor(2.5)}, [](const elementwise_loop& loop) {
    ASSERT_NE(loop.operands[2].data, nullptr);
    EXPECT_THAT(loop.operands[2].strides, ElementsAre(0));
    EXPECT_EQ(*static_cast<float*>(loop.operands[2].data), 2.5f);
  });
  elementwise({made({5}, at::kChar), at::scalar_tensor(300, at::kLong)},
              [](const elementwise_loop& loop) {
                EXPECT_EQ(loop.dtype, at::kChar);
                EXPECT_EQ(*static_cast<int8_t*>(loop.operands[2].data), 44) << "as on the CPU";
              });
}

TEST_F(ElementwiseTest, OrIsANumber) {
  const at::Tensor x = made({5}, at::kHalf);
  const seen_loop loop =
      loop_of({at::scalar_tensor(1e6, at::kDouble), x}, {.cpu_scalars_as_numbers = true});
  EXPECT_EQ(loop.dtype, at::kHalf);
  EXPECT_EQ(loop.data[1], nullptr);
  EXPECT_EQ(loop.numbers[1], 1e6) << "more than half can hold";
  EXPECT_EQ(loop.data[2], x.data_ptr());
  EXPECT_TRUE(loop.is_contiguous) << "of the tensors";
  const seen_loop integers = loop_of({made({5}, at::kChar), at::scalar_tensor(300, at::kLong)},
                                     {.cpu_scalars_as_numbers = true});
  EXPECT_EQ(integers.numbers[2], 44);
}

TEST_F(ElementwiseTest, ThreeInputs) {
  const at::Tensor x = made({4});
  result = elementwise({x, made({3, 1}), x}, [](const elementwise_loop& loop) {
    EXPECT_EQ(loop.operands.size(), 4u);
    EXPECT_EQ(loop.numel, 12);
  });
  EXPECT_EQ(result.sizes(), at::IntArrayRef({3, 4}));
}

TEST_F(ElementwiseTest, ComparisonsWriteBools) {
  const seen_loop loop = loop_of({made({3}), made({3}, at::kInt)}, {.result_dtype = at::kBool});
  EXPECT_THAT(loop.dtypes, ElementsAre(at::kBool, at::kFloat, at::kFloat));
  EXPECT_EQ(result.scalar_type(), at::kBool);
}

TEST_F(ElementwiseTest, IntegersBecomeFloatsWhereAsked) {
  const seen_loop loop = loop_of({made({3}, at::kInt)}, {.promote_integer_inputs_to_float = true});
  EXPECT_THAT(loop.dtypes, ElementsAre(at::kFloat, at::kFloat));
  EXPECT_EQ(result.scalar_type(), at::kFloat);
}

TEST_F(ElementwiseTest, AnOutputOfAnotherDtypeIsConverted) {
  at::Tensor out = at::zeros({2, 3}, at::TensorOptions(at::kDouble).device(device(0))).t();
  elementwise_out({made({3, 1}), made({2})}, out, [](const elementwise_loop& loop) {
    EXPECT_EQ(loop.operands[0].dtype, at::kFloat);
    for (int i = 0; i < 6; ++i) static_cast<float*>(loop.operands[0].data)[i] = 7;
  });
  EXPECT_TRUE(out.cpu().equal(at::full({3, 2}, 7, at::kDouble)));
  at::Tensor counts = at::zeros({3}, at::TensorOptions(at::kLong).device(device(0)));
  elementwise_out({made({3})}, counts,
                  [](const elementwise_loop& loop) {
                    EXPECT_EQ(loop.operands[0].dtype, at::kBool);
                    for (int i = 0; i < 3; ++i) static_cast<bool*>(loop.operands[0].data)[i] = true;
                  },
                  {.result_dtype = at::kBool});
  EXPECT_TRUE(counts.cpu().equal(at::ones({3}, at::kLong)));
}

TEST_F(ElementwiseTest, AnOutputIsConvertedWhenTheKernelIsThroughWithIt) {
  at::Tensor out = at::zeros({4}, at::TensorOptions(at::kDouble).device(device(0)));
  std::atomic<bool> open{false};
  std::thread opener;
  elementwise_out({made({4})}, out, [&](const elementwise_loop& loop) {
    // As a vendor's kernel is launched: by the driver alone, which tells nobody.
    const outback_runtime& runtime = *host_table();
    const auto wait = [](void* data) {
      while (!static_cast<std::atomic<bool>*>(data)->load()) std::this_thread::yield();
    };
    const float seven = 7;
    runtime.callbacks->enqueue(runtime.self, 0, wait, &open, loop.stream.handle());
    runtime.mem_fill(runtime.self, 0, loop.operands[0].data, 4 * sizeof seven, &seven, sizeof seven,
                     loop.stream.handle());
    opener = std::thread([&open] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      open = true;
    });
  });
  EXPECT_TRUE(out.cpu().equal(at::full({4}, 7, at::kDouble)));
  opener.join();
}

TEST_F(ElementwiseTest, AnOutputIsResized) {
  at::Tensor out = at::empty({0}, at::TensorOptions(device(0)));
  elementwise_out({made({3, 1}), made({2})}, out, nothing);
  EXPECT_EQ(out.sizes(), at::IntArrayRef({3, 2}));
}

TEST_F(ElementwiseTest, RefusesWhatPyTorchRefuses) {
  at::Tensor x = made({4});
  at::Tensor integers = made({4}, at::kInt);
  at::Tensor row = x.slice(0, 0, 1);
  at::Tensor expanded = row.expand({4});
  at::Tensor tail = x.slice(0, 1);
  EXPECT_THAT(error_of([&] { elementwise({x, made({3})}, nothing); }), HasSubstr("must match"));
  EXPECT_THAT(error_of([&] { elementwise_out({integers, x}, integers, nothing); }),
              HasSubstr("result type Float can't be cast to the desired output type Int"));
  EXPECT_THAT(error_of([&] {
                at::Tensor flags = made({4}, at::kBool);
                elementwise_out({x}, flags, nothing, {.result_dtype = at::kFloat});
              }),
              HasSubstr("result type Float can't be cast"));
  EXPECT_THAT(error_of([&] { elementwise_out({row, made({4})}, row, nothing); }),
              HasSubstr("doesn't match the broadcast shape"));
  EXPECT_THAT(error_of([&] { elementwise_out({made({4})}, expanded, nothing); }),
              HasSubstr("more than one element of the written-to tensor"));
  EXPECT_THAT(error_of([&] { elementwise_out({x.slice(0, 0, 3)}, tail, nothing); }),
              HasSubstr("some elements of the input tensor and the written-to tensor"));
  EXPECT_THAT(error_of([&] { elementwise({x, at::rand({4})}, nothing); }),
              HasSubstr("Expected all tensors to be on the same device"));
  EXPECT_THAT(error_of([&] { elementwise({x, x.to(device(1))}, nothing); }),
              HasSubstr("Expected all tensors to be on the same device"));
  EXPECT_THAT(error_of([&] { elementwise({at::rand({4})}, nothing); }), HasSubstr("acme"));
}

TEST_F(ElementwiseTest, RunsOnTheDeviceAndStreamOfItsTensors) {
  const c10::Stream mine = core::new_stream(1, 0);
  core::exchange_stream(mine);
  elementwise({made({3}).to(device(1))}, [&](const elementwise_loop& loop) {
    EXPECT_EQ(loop.stream.handle(), core::handle_of(mine));
    EXPECT_EQ(core::current_device(), 1);
  });
  EXPECT_FALSE(core::is_idle(mine)) << "the kernel may have enqueued something";
  core::exchange_stream(core::default_stream(1));
}

TEST_F(ElementwiseTest, MetaTensorsGetAShapeAndNoKernel) {
  const auto meta = at::TensorOptions(at::kMeta);
  result = elementwise({at::empty({4, 1}, meta), at::empty({3}, meta.dtype(at::kDouble))},
                       [](const elementwise_loop&) { FAIL() << "there is nothing to read"; });
  EXPECT_TRUE(result.is_meta());
  EXPECT_EQ(result.sizes(), at::IntArrayRef({4, 3}));
  EXPECT_EQ(result.scalar_type(), at::kDouble);
}

TEST_F(ElementwiseTest, AnIteratorOfTheVendorsOwn) {
  at::Tensor out;
  const at::Tensor x = made({3});
  at::TensorIterator iterator =
      at::TensorIteratorConfig().add_output(out).add_const_input(x).build();
  kernels::run_loops(iterator, [this](const elementwise_loop& loop) { look(loop); });
  ASSERT_EQ(loops.size(), 1u);
  EXPECT_THAT(loops[0].data, ElementsAre(iterator.output().data_ptr(), x.data_ptr()));
}

TEST_F(ElementwiseTest, LargeLoopsAreSplitWhereAsked) {
  // No memory behind it: every element is the same one.
  constexpr int64_t large = int64_t{3} << 30;
  const at::Tensor x = made({1}).expand({large});
  const at::Tensor out = made({1}).expand({large});
  const auto run = [&](const kernels::elementwise_options& options) {
    at::TensorIterator iterator = at::TensorIteratorConfig()
                                      .add_output(out)
                                      .add_const_input(x)
                                      .set_check_mem_overlap(false)
                                      .resize_outputs(false)
                                      .build();
    loops.clear();
    kernels::run_loops(iterator, [this](const elementwise_loop& loop) { look(loop); }, options);
  };
  run({});
  EXPECT_EQ(loops.size(), 1u);
  run({.use_32bit_indexing = true});
  EXPECT_GT(loops.size(), 1u);
  int64_t total = 0;
  for (const seen_loop& loop : loops) {
    EXPECT_LE(loop.numel, std::numeric_limits<int32_t>::max());
    total += loop.numel;
  }
  EXPECT_EQ(total, large);
}

}  // namespace
}  // namespace outback::test
