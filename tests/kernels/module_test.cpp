// Code that a native kernel loads at run time and launches.
#include "outback/kernels/module.h"

#include <ATen/Functions.h>
#include <gmock/gmock.h>

#include <fstream>
#include <iterator>
#include <string>

#include "tests/core/test_backend.h"
#include "tests/kernels/error_of.h"

namespace outback::test {
namespace {

using ::testing::HasSubstr;

std::string host_kernels() {
  std::ifstream file(OUTBACK_HOST_KERNELS, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class KernelModuleTest : public BackendTest {
 protected:
  kernels::module module_{device(0), OUTBACK_FORMAT_HOST, host_kernels()};
};

TEST_F(KernelModuleTest, LaunchesOnTensorsAndNumbers) {
  const at::Tensor a = at::arange(100, at::device(device(0)).dtype(at::kFloat));
  const at::Tensor b = a * 2, out = at::zeros_like(a);
  {
    kernels::kernel_stream stream(out.device());
    kernels::launch(stream, module_.kernel("add"), {{4, 1, 1}, {32, 1, 1}}, out, a, b,
                    uint32_t(out.numel()));
  }
  EXPECT_TRUE(at::equal(out.cpu(), a.cpu() * 3));
}

TEST_F(KernelModuleTest, LaunchesStay) {
  const at::Tensor out = at::zeros({4}, at::device(device(0)).dtype(at::kInt));
  const uint32_t rounds = 1000000;
  {
    const kernels::module gone(device(0), OUTBACK_FORMAT_HOST, host_kernels());
    kernels::kernel_stream stream(out.device());
    kernels::launch(stream, gone.kernel("take_time"), {{1, 1, 1}, {1, 1, 1}}, out, rounds);
  }
  uint32_t expected = 1;
  for (uint32_t i = 0; i < rounds; ++i) expected = expected * 1664525u + 1013904223u;
  EXPECT_EQ(uint32_t(out[0].item<int32_t>()), expected);
}

TEST_F(KernelModuleTest, WhatDoesNotFitIsRefused) {
  EXPECT_THAT(error_of([&] { module_.kernel("none"); }),
              HasSubstr("kernels.kernel(): invalid argument: the module has no kernel \"none\""));
  EXPECT_THAT(error_of([&] { kernels::module(device(0), OUTBACK_FORMAT_HOST, "no module"); }),
              HasSubstr("it has only 9 bytes"));
  EXPECT_THAT(error_of([&] { kernels::module(device(0), OUTBACK_FORMAT_PTX, "text"); }),
              HasSubstr("OUTBACK_FORMAT_HOST"));
  EXPECT_THAT(error_of([&] { kernels::module(c10::Device("cpu"), OUTBACK_FORMAT_HOST, "x"); }),
              HasSubstr("Expected a device of acme with an index for a module, but found cpu"));
  const at::Tensor out = at::zeros({4}, at::device(device(0)).dtype(at::kFloat));
  EXPECT_THAT(error_of([&] {
                kernels::kernel_stream stream(out.device());
                kernels::launch(stream, module_.kernel("add"), {{1, 1, 1}, {1, 1, 1}}, out);
              }),
              HasSubstr("the kernel add has 4 arguments, and the launch gives 1"));
  EXPECT_THAT(error_of([&] {
                kernels::kernel_stream stream(device(1));
                kernels::launch(stream, module_.kernel("add"), {{1, 1, 1}, {1, 1, 1}}, out, out,
                                out, uint32_t{4});
              }),
              HasSubstr("device"));
}

}  // namespace
}  // namespace outback::test
