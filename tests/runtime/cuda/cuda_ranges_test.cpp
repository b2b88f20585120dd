// The range slots reach a tool of NVTX's: the fake one, which NVTX_INJECTION64_PATH names.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <thread>

#include "backend_template/runtimes/cuda/cuda_runtime.hpp"
#include "tests/runtime/cuda/fake.hpp"

namespace outback::cuda {
namespace {

std::string notes() {
  static auto* const read = [] {
    void* const tool = dlopen(OUTBACK_TEST_NVTX_TOOL, RTLD_NOW | RTLD_NOLOAD);
    return tool == nullptr
               ? nullptr
               : reinterpret_cast<const char* (*)()>(dlsym(tool, "outback_fake_nvtx_notes"));
  }();
  return read == nullptr ? "NVTX has not loaded the tool" : read();
}

// One test: NVTX looks for a tool once in a process.
TEST(CudaRangesTest, AToolSeesRangesAndMarks) {
  setenv("NVTX_INJECTION64_PATH", OUTBACK_TEST_NVTX_TOOL, 1);
  fake();
  cuda_runtime runtime;
  const outback_runtime& t = *table_of(runtime);
  ASSERT_NE(t.ranges, nullptr);
  EXPECT_EQ(t.ranges->push(t.self, "outer"), OUTBACK_OK);
  EXPECT_EQ(t.ranges->mark(t.self, "here"), OUTBACK_OK);
  EXPECT_EQ(t.ranges->push(t.self, "inner \xc3\xa4"), OUTBACK_OK);
  EXPECT_EQ(t.ranges->pop(t.self), OUTBACK_OK);
  EXPECT_EQ(t.ranges->pop(t.self), OUTBACK_OK);
  EXPECT_EQ(notes(), "push outer\nmark here\npush inner \xc3\xa4\npop\npop\n");
}

}  // namespace
}  // namespace outback::cuda
