// Commands that end with a negative status, and commands that other code enqueued.
#include "backend_template/runtimes/opencl/driver_api.hpp"
#include "tests/runtime/opencl/own_process.hpp"

namespace outback::test_opencl {
namespace {

void fill() {
  void* ptr = nullptr;
  must(table().mem_alloc(table().self, 0, 64, &ptr));
  const unsigned char one = 1;
  must(table().mem_fill(table().self, 0, ptr, 64, &one, 1, nullptr));
}

TEST(LateFailuresTest, TheNextSyncTellsOnce) {
  OUTBACK_IN_ITS_OWN_PROCESS(
      ({{"OUTBACK_OPENCL_LOADER", other_loader}, {"OUTBACK_TEST_CL_DRIVER", "failing"}}), {
        fill();
        EXPECT_EQ(table().streams->sync(table().self, 0, nullptr), OUTBACK_INTERNAL);
        EXPECT_EQ(last_error(),
                  "a fill of 64 bytes failed after it was enqueued: CL_OUT_OF_RESOURCES (-5)");
        EXPECT_EQ(table().streams->sync(table().self, 0, nullptr), OUTBACK_OK) << last_error();
        fill();
        EXPECT_EQ(table().device_sync(table().self, 0), OUTBACK_INTERNAL);
        EXPECT_EQ(table().device_sync(table().self, 0), OUTBACK_OK) << last_error();
      });
}

// An event of the host in the queue of device 0's default stream: what is enqueued behind it waits.
TEST(LateFailuresTest, WorkOfOtherCodeIsWorkOfTheStream) {
  OUTBACK_IN_ITS_OWN_PROCESS(({}), {
    opencl::driver_api api;
    ASSERT_EQ(opencl::load("libOpenCL.so.1", api), "");
    void *context = nullptr, *queue = nullptr;
    must(table().native->context(table().self, 0, &context));
    must(table().native->stream(table().self, 0, nullptr, &queue));
    cl_int result = CL_SUCCESS;
    const cl_event gate = api.clCreateUserEvent(static_cast<cl_context>(context), &result);
    ASSERT_EQ(result, CL_SUCCESS);
    ASSERT_EQ(
        api.clEnqueueBarrierWithWaitList(static_cast<cl_command_queue>(queue), 1, &gate, nullptr),
        CL_SUCCESS);
    EXPECT_EQ(table().streams->query(table().self, 0, nullptr), OUTBACK_NOT_READY);
    EXPECT_EQ(api.clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
    EXPECT_EQ(table().streams->sync(table().self, 0, nullptr), OUTBACK_OK) << last_error();
    EXPECT_EQ(table().streams->query(table().self, 0, nullptr), OUTBACK_OK) << last_error();
  });
}

}  // namespace
}  // namespace outback::test_opencl
