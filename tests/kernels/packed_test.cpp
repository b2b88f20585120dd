// Kernels in the dialect that the build has packed into the program.
#include "outback/kernels/packed.h"

#include <ATen/Functions.h>
#include <gmock/gmock.h>

#include <thread>
#include <vector>

#include "outback/kernels/module.h"
#include "tests/core/test_backend.h"
#include "tests/kernels/error_of.h"

namespace outback::test {
namespace {

using ::testing::HasSubstr;

class PackedKernelTest : public BackendTest {};

void scale(const at::Tensor& out, float factor, const at::Tensor& in) {
  const kernels::packed_kernel kernel = kernels::find_packed(out.device(), "packed", "scale");
  kernels::kernel_stream stream(out.device());
  kernels::launch(stream, kernel.handle, {{2, 1, 1}, {kernel.items, 1, 1}}, int32_t(out.numel()),
                  factor, out, in);
}

TEST_F(PackedKernelTest, IsLaunchedOnTensors) {
  const at::Tensor in = at::arange(1000, at::device(device(0)).dtype(at::kFloat));
  const at::Tensor out = at::zeros_like(in);
  scale(out, 3, in);
  EXPECT_TRUE(at::equal(out.cpu(), in.cpu() * 3));
}

TEST_F(PackedKernelTest, HasTheGroupSizeThatItWasCompiledFor) {
  const at::Tensor out = at::zeros({1}, at::device(device(0)).dtype(at::kInt));
  const kernels::packed_kernel kernel = kernels::find_packed(device(0), "packed", "group_size");
  {
    kernels::kernel_stream stream(out.device());
    kernels::launch(stream, kernel.handle, {{1, 1, 1}, {kernel.items, 1, 1}}, out);
  }
  EXPECT_EQ(out.item<int32_t>(), int32_t(kernel.items));
  EXPECT_EQ(kernel.items, 256u);
}

TEST_F(PackedKernelTest, IsTheSameEachTime) {
  const outback_kernel first = kernels::find_packed(device(0), "packed", "scale").handle;
  std::vector<outback_kernel> found(8);
  std::vector<std::thread> threads;
  for (outback_kernel& each : found) {
    threads.emplace_back([&] { each = kernels::find_packed(device(0), "packed", "scale").handle; });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_THAT(found, ::testing::Each(first));
}

TEST_F(PackedKernelTest, WhatIsMissingIsNamed) {
  EXPECT_THAT(error_of([] { kernels::find_packed(device(0), "none", "scale"); }),
              HasSubstr("no module none is packed"));
  EXPECT_THAT(error_of([] { kernels::find_packed(device(0), "packed", "none"); }),
              HasSubstr("no kernel \"none\""));
  // The host takes no OpenCL C.
  static constexpr char text[] = "";
  static const packed_module other[] = {
      {"for_another_device", OUTBACK_FORMAT_OPENCL_C, 0, 0, text, text}};
  static const detail::packed_modules registered(other);
  EXPECT_THAT(error_of([] { kernels::find_packed(device(0), "for_another_device", "scale"); }),
              HasSubstr("is packed in the formats 6"));
}

}  // namespace
}  // namespace outback::test
