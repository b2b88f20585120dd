// <NAME>_VISIBLE_DEVICES without Python: read before the first count, once it can be.
#include <c10/util/Exception.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/devices/lazy_start.h"
#include "backend_template/core/runtime/runtime.h"
#include "outback/backend.h"
#include "outback/runtime.hpp"
#include "tests/runtime/whole_runtime.hpp"

namespace outback::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class late_runtime : public whole_runtime {
 public:
  late_runtime() : whole_runtime(3) {}

  int32_t device_count() { return is_up ? whole_runtime::device_count() : 0; }
  outback_device_info device_info(int32_t device) {
    if (!is_up) throw invalid_argument("there is no device 0: nobody knows why");
    return whole_runtime::device_info(device);
  }

  bool is_up = true;
};

// One test: what it looks at can happen to a process only once.
TEST(VisibleDevicesTest, AreReadOnceTheRuntimeCanCount) {
  auto& runtime = *new late_runtime;  // leaked, as a runtime is
  register_backend({.name = "acme", .runtime = table_of(runtime)});
  setenv("ACME_VISIBLE_DEVICES", "2,0,7,1", 1);  // after the registration, which counts nothing

  runtime.on_call = [] { throw runtime_error(OUTBACK_INTERNAL, "the driver is not up"); };
  EXPECT_EQ(core::device_count(), 0);
  EXPECT_THAT([] { core::ensure_started(); },
              ThrowsMessage<c10::Error>(AllOf(HasSubstr("ACME_VISIBLE_DEVICES=2,0,7,1"),
                                              HasSubstr("the driver is not up"))));

  // It counts none, as a runtime does whose driver is not there or broken.
  runtime.on_call = [] {};
  runtime.is_up = false;
  EXPECT_EQ(core::device_count(), 0);
  for (const auto& call : {+[] { core::ensure_started(); }, +[] { core::set_device(0); }}) {
    EXPECT_THAT(call, ThrowsMessage<c10::Error>(HasSubstr(
                          "no acme device is available: there is no device 0: nobody knows why")));
  }

  runtime.is_up = true;
  EXPECT_EQ(core::device_count(), 2);
  setenv("ACME_VISIBLE_DEVICES", "1", 1);
  core::ensure_started();
  EXPECT_EQ(core::device_count(), 2);
  EXPECT_THAT([] { core::set_device(2); },
              ThrowsMessage<c10::AcceleratorError>(
                  HasSubstr("this process has 2 devices (ACME_VISIBLE_DEVICES=2,0,7,1)")));

  void* memory = nullptr;
  const outback_runtime& table = core::runtime();
  ASSERT_EQ(table.mem_alloc(table.self, 0, 64, &memory), OUTBACK_OK);
  outback_pointer_info info{};
  info.struct_size = sizeof info;
  const outback_runtime& bare = core::installed_runtime();
  ASSERT_EQ(bare.host_memory->info(bare.self, memory, &info), OUTBACK_OK);
  EXPECT_EQ(info.device, 2);
  EXPECT_EQ(table.mem_free(table.self, 0, memory), OUTBACK_OK);
}

}  // namespace
}  // namespace outback::test
