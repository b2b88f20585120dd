// No loader, no driver: there are no devices, and every slot says why.
#include <dlfcn.h>
#include <gmock/gmock.h>

#include <filesystem>

#include "tests/runtime/opencl/own_process.hpp"

namespace outback::test_opencl {
namespace {

using testing::HasSubstr;

void expect_every_slot_to_say(const std::string& why) {
  const outback_runtime& t = table();
  void* ptr = nullptr;
  outback_stream stream = nullptr;
  EXPECT_EQ(device_count(), 0);
  EXPECT_EQ(t.mem_alloc(t.self, 0, 64, &ptr), OUTBACK_INVALID_ARGUMENT);
  EXPECT_THAT(last_error(), HasSubstr(why));
  EXPECT_EQ(t.streams->create(t.self, 0, 0, &stream), OUTBACK_INVALID_ARGUMENT);
  EXPECT_THAT(last_error(), HasSubstr(why));
  EXPECT_EQ(t.host_memory->alloc(t.self, 64, &ptr), OUTBACK_UNSUPPORTED);
  EXPECT_THAT(last_error(), HasSubstr(why));
  outback_pointer_info info = {};
  info.struct_size = sizeof(info);
  EXPECT_EQ(t.host_memory->info(t.self, &ptr, &info), OUTBACK_OK);
  EXPECT_EQ(info.pinned, 0);
}

TEST(LoadingTest, NothingIsOpenedBeforeTheFirstSlot) {
  OUTBACK_IN_ITS_OWN_PROCESS(({}), {
    EXPECT_EQ(last_error(), "");
    EXPECT_EQ(dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_NOLOAD), nullptr);
    EXPECT_EQ(device_count(), 2);
    EXPECT_NE(dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_NOLOAD), nullptr);
  });
}

TEST(LoadingTest, CountingAndAskingMakesNoContext) {
  OUTBACK_IN_ITS_OWN_PROCESS(({}), {
    EXPECT_EQ(device_count(), 2);
    outback_device_info info = {};
    info.struct_size = sizeof(info);
    must(table().device_info(table().self, 1, &info));
    int32_t active = -1;
    EXPECT_EQ(table().device_state->is_active(table().self, 0, &active), OUTBACK_OK);
    EXPECT_EQ(active, 0);
  });
}

TEST(LoadingTest, NoLoader) {
  OUTBACK_IN_ITS_OWN_PROCESS(({{"OUTBACK_OPENCL_LOADER", "/nowhere/libOpenCL.so.1"}}),
                             expect_every_slot_to_say("there is no OpenCL loader: /nowhere/"));
}

TEST(LoadingTest, ALibraryThatIsNoLoader) {
  OUTBACK_IN_ITS_OWN_PROCESS(
      ({{"OUTBACK_OPENCL_LOADER", "libm.so.6"}}),
      expect_every_slot_to_say("libm.so.6 is no OpenCL loader of version 2.0: it has no "
                               "clGetPlatformIDs, "));
}

TEST(LoadingTest, NoDriver) {
  const std::string empty = testing::TempDir() + "/outback_no_opencl_driver";
  std::filesystem::create_directories(empty);
  OUTBACK_IN_ITS_OWN_PROCESS(({{"OCL_ICD_VENDORS", empty.c_str()}}),
                             expect_every_slot_to_say("OpenCL's loader lists no device. It takes a "
                                                      "driver: Debian's pocl-opencl-icd"));
}

TEST(LoadingTest, ADeviceWithoutPointers) {
  OUTBACK_IN_ITS_OWN_PROCESS(
      ({{"OUTBACK_OPENCL_LOADER", other_loader}, {"OUTBACK_TEST_CL_DRIVER", "no_pointers"}}),
      expect_every_slot_to_say(" has neither unified shared memory "
                               "(cl_intel_unified_shared_memory) nor fine-grained shared virtual "
                               "memory, so that it has no pointers for tensors"));
}

TEST(LoadingTest, AMalformedVariableIsNamed) {
  OUTBACK_IN_ITS_OWN_PROCESS(({{"OUTBACK_OPENCL_LOADER", "here/libOpenCL.so.1"}}), {
    int32_t count = -1;
    EXPECT_EQ(table().device_count(table().self, &count), OUTBACK_INVALID_ARGUMENT);
    EXPECT_THAT(last_error(), HasSubstr("OUTBACK_OPENCL_LOADER"));
  });
}

}  // namespace
}  // namespace outback::test_opencl
