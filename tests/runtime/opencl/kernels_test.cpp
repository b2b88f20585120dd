// Modules and kernels that the runtime suite does not know: what OpenCL C alone can be asked.
#include <gmock/gmock.h>

#include <cstring>
#include <vector>

#include "tests/runtime/opencl/own_process.hpp"

namespace outback::test_opencl {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

outback_status load(const std::string& text, outback_module* module) {
  return table().kernels->module_load(table().self, 0, OUTBACK_FORMAT_OPENCL_C, text.data(),
                                      text.size(), module);
}

class CLKernelTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { set_environment(); }

  void TearDown() override {
    // PoCL compiles a kernel when it runs, and crashes if the process ends in its first
    // compilation.
    must(table().device_sync(table().self, 0));
    for (const outback_module each : loaded_) {
      must(table().kernels->module_unload(table().self, 0, each));
    }
  }

  outback_module module(const std::string& text) {
    outback_module made = nullptr;
    must(load(text, &made));
    return loaded_.emplace_back(made);
  }
  outback_kernel kernel(const std::string& text, const char* name) {
    outback_kernel found = nullptr;
    must(table().kernels->kernel(table().self, 0, module(text), name, &found));
    return found;
  }

  static outback_status launch(outback_kernel kernel, std::initializer_list<outback_argument> with,
                               uint64_t local_size = 0) {
    outback_launch how = {};
    how.struct_size = sizeof(how);
    how.argument_count = uint32_t(with.size());
    how.arguments = with.begin();
    for (int i = 0; i < 3; ++i) how.groups[i] = how.items[i] = 1;
    how.local_size = local_size;
    return table().kernels->launch(table().self, 0, kernel, &how, nullptr);
  }

 private:
  std::vector<outback_module> loaded_;
};

TEST_F(CLKernelTest, TheBuildLogComesFirst) {
  outback_module none = nullptr;
  EXPECT_EQ(load("__kernel void k() { nonsense; }", &none), OUTBACK_INVALID_ARGUMENT);
  EXPECT_THAT(last_error(), HasSubstr("use of undeclared identifier 'nonsense'"));
  EXPECT_THAT(last_error(), HasSubstr("\nclBuildProgram: CL_BUILD_PROGRAM_FAILURE (-11)"));
}

// PoCL ends the process when such a kernel is launched.
TEST_F(CLKernelTest, AKernelWithMoreLocalMemoryThanAGroupGetsIsRefused) {
  const outback_module big = module(
      "__kernel void big(__global int* out) { __local int all[1 << 24]; all[0] = 1;\n"
      "  out[0] = all[out[1]]; }");
  outback_kernel none = nullptr;
  EXPECT_EQ(table().kernels->kernel(table().self, 0, big, "big", &none), OUTBACK_INVALID_ARGUMENT);
  EXPECT_THAT(last_error(),
              StartsWith("the kernel big declares 67108864 bytes of local memory, and "
                         "a group of the device gets at most "));
}

TEST_F(CLKernelTest, AModuleWithoutKernelsIsRefused) {
  outback_module none = nullptr;
  EXPECT_EQ(load("int twice(int x) { return 2 * x; }", &none), OUTBACK_INVALID_ARGUMENT);
  EXPECT_EQ(last_error(), "the module has no kernel");
}

TEST_F(CLKernelTest, AMissingKernelNamesThoseThatThereAre) {
  const outback_module two = module("__kernel void one() {} __kernel void two() {}");
  outback_kernel none = nullptr;
  EXPECT_EQ(table().kernels->kernel(table().self, 0, two, "three", &none),
            OUTBACK_INVALID_ARGUMENT);
  EXPECT_THAT(last_error(), StartsWith("the module has no kernel \"three\"; it has "));
  EXPECT_THAT(last_error(), HasSubstr("two"));
}

// The driver would take a number for one of its handles, and crash.
TEST_F(CLKernelTest, PointersAndNumbersAreToldApart) {
  const outback_kernel k = kernel("__kernel void k(__global int* p, long n) {}", "k");
  void* null = nullptr;
  const int64_t number = 77;
  const outback_argument pointer = {&null, sizeof(null), 1}, plain = {&number, sizeof(number), 0};
  EXPECT_EQ(launch(k, {plain, plain}), OUTBACK_INVALID_ARGUMENT);
  EXPECT_EQ(last_error(),
            "argument 0 of the kernel k is a pointer to memory, and the launch gives a number: "
            "expected is_memory");
  EXPECT_EQ(launch(k, {pointer, pointer}), OUTBACK_INVALID_ARGUMENT);
  EXPECT_EQ(last_error(),
            "argument 1 of the kernel k is a number, and the launch gives a pointer to memory: "
            "expected is_memory 0");
  EXPECT_EQ(launch(k, {pointer, plain}), OUTBACK_OK) << last_error();
}

TEST_F(CLKernelTest, LocalMemoryIsTheLastParameter) {
  const outback_kernel k =
      kernel("__kernel void k(int n, __local int* all) {} __kernel void p(int n) {}", "k");
  outback_kernel_info info = {};
  info.struct_size = sizeof(info);
  must(table().kernels->info(table().self, 0, k, &info));
  EXPECT_EQ(info.argument_count, 1);
  const int32_t number = 1;
  const outback_argument plain = {&number, sizeof(number), 0};
  EXPECT_EQ(launch(k, {plain}, 64), OUTBACK_OK) << last_error();
  EXPECT_EQ(launch(k, {plain}), OUTBACK_INVALID_ARGUMENT);
  EXPECT_EQ(launch(k, {plain, plain}), OUTBACK_INVALID_ARGUMENT);
  EXPECT_THAT(last_error(), HasSubstr("expected as the last one, by local_size"));
}

TEST_F(CLKernelTest, AnArgumentOfAWrongSizeIsNamed) {
  // PoCL does not check the size of a typedef, and reads beyond the argument.
  const outback_kernel k = kernel("typedef long i64; __kernel void k(int n, const i64 m) {}", "k");
  const int32_t fits = 1;
  const int8_t small = 1;
  EXPECT_EQ(launch(k, {{&small, sizeof(small), 0}, {&fits, sizeof(fits), 0}}),
            OUTBACK_INVALID_ARGUMENT);
  EXPECT_EQ(last_error(), "argument 0 of the kernel k has 4 bytes, and the launch gives 1");
  EXPECT_EQ(launch(k, {{&fits, sizeof(fits), 0}, {&fits, sizeof(fits), 0}}),
            OUTBACK_INVALID_ARGUMENT);
  EXPECT_EQ(last_error(), "argument 1 of the kernel k has 8 bytes, and the launch gives 4");
}

TEST_F(CLKernelTest, OfATypeWithoutAKnownSizeTheDriverChecksTheArgument) {
  const outback_kernel k = kernel("__kernel void k(int4 n) {}", "k");
  const int8_t small = 1;
  EXPECT_EQ(launch(k, {{&small, sizeof(small), 0}}), OUTBACK_INVALID_ARGUMENT);
  EXPECT_EQ(last_error(),
            "argument 0 of the kernel k has not 1 bytes, says the driver: CL_INVALID_ARG_SIZE "
            "(-51)");
}

// PoCL does not check it.
TEST_F(CLKernelTest, TheSizesOfTheDialectsNumbersAreKnown) {
  const outback_kernel k = kernel("typedef long i64; __kernel void k(i64 n) {}", "k");
  const int64_t whole = 1;
  const int32_t half = 1;
  EXPECT_EQ(launch(k, {{&half, sizeof(half), 0}}), OUTBACK_INVALID_ARGUMENT);
  EXPECT_EQ(last_error(), "argument 0 of the kernel k has 8 bytes, and the launch gives 4");
  EXPECT_EQ(launch(k, {{&whole, sizeof(whole), 0}}), OUTBACK_OK) << last_error();
}

}  // namespace
}  // namespace outback::test_opencl
