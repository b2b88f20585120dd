// A device that allocates less at once than it has: OpenCL's and Level Zero's drivers do.
#include <c10/util/Exception.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>

#include "backend_template/core/memory/device_allocator.h"
#include "outback/backend.h"
#include "outback/runtime.hpp"
#include "tests/runtime/whole_runtime.hpp"

namespace outback::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr std::size_t most = 1000000;  // no multiple of anything

class limited_runtime : public whole_runtime {
 public:
  limited_runtime() : whole_runtime(1) {}

  outback_device_info device_info(int32_t device) {
    outback_device_info info = whole_runtime::device_info(device);
    info.max_alloc_size = most;
    return info;
  }
  // The contract's answer to what no caller may ask for.
  void* mem_alloc(int32_t device, std::size_t size) {
    if (size > most) throw invalid_argument("more than max_alloc_size");
    return whole_runtime::mem_alloc(device, size);
  }
};

TEST(LargestAllocationTest, NoMoreIsAskedOfTheRuntime) {
  register_backend({.name = "acme", .runtime = table_of(*new limited_runtime)});  // leaked
  for (const std::size_t size : {std::size_t{1}, most / 2, most - 100, most / 64 * 64}) {
    EXPECT_NE(core::allocate_on(0, size).get(), nullptr) << size;
  }
  EXPECT_THAT([] { core::allocate_on(0, most + 64); },
              ThrowsMessage<c10::OutOfMemoryError>(
                  AllOf(HasSubstr("Tried to allocate 976.62 KiB"),
                        HasSubstr("than one allocation of this device may have (976.56 KiB)"))));
}

}  // namespace
}  // namespace outback::test
