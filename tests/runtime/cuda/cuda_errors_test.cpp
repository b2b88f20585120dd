// Every error of every function that a slot calls arrives: as its status, with CUDA's words, with
// nothing lost, and with the thread's CUDA state as it was.
#include <gmock/gmock.h>

#include <atomic>
#include <set>
#include <thread>

#include "tests/runtime/cuda/every_slot.hpp"
#include "tests/runtime/cuda/fake.hpp"

namespace outback::cuda {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const std::vector<std::string>& entry_points() {
  static const std::vector<std::string> names = {
#define OUTBACK_NAME(name) #name,
      OUTBACK_CUDART_REQUIRED(OUTBACK_NAME) OUTBACK_CUDART_OPTIONAL(OUTBACK_NAME)
          OUTBACK_CUDA_DRIVER(OUTBACK_NAME)
#undef OUTBACK_NAME
#define OUTBACK_NAME(name, since) #name,
              OUTBACK_CUDA_DRIVER_OPTIONAL(OUTBACK_NAME)
#undef OUTBACK_NAME
  };
  return names;
}

// Those whose failure changes nothing: they make texts, they put back what was before, they tell
// more of a pointer than has to be known, or, the last, whether a stream that goes has launches.
const std::set<std::string> harmless = {"cudaGetLastError", "cudaGetErrorName",
                                        "cudaGetErrorString", "cuCtxPopCurrent"};

const std::set<std::string> asked_of_a_stream_that_goes = {
    "cudaStreamIsCapturing", "cudaStreamQuery", "cudaThreadExchangeStreamCaptureMode"};

bool is_harmless(const slot_case& slot, const std::string& entry) {
  return harmless.contains(entry) ||
         (slot.name == "streams.destroy" && asked_of_a_stream_that_goes.contains(entry)) ||
         (slot.name == "host_memory.info" && entry == "cuMemGetAddressRange");
}

CUcontext current() {
  CUcontext context = nullptr;
  fake_driver().cuCtxGetCurrent(&context);
  return context;
}

// What a failure is to look like, whichever function of CUDA's it comes from.
struct planted {
  int error;
  outback_status status;
  const char* words;
};
constexpr planted plain = {cudaErrorNotSupported, OUTBACK_UNSUPPORTED, "(801): "};
constexpr planted sticky = {cudaErrorLaunchFailure, OUTBACK_DEVICE_LOST, "(719): "};

class CudaErrorTest : public testing::TestWithParam<slot_case> {
 protected:
  void SetUp() override { fake().clear_faults(); }
  void TearDown() override {
    fake().clear_faults();
    fake().revive(slot_world::device);
  }

  // Whether the slot came to that function.
  bool plant(slot_world& world, const std::string& entry, const planted& what) {
    const slot_case& slot = GetParam();
    const CUcontext before = current();
    const auto calls = fake().calls(entry.c_str());
    EXPECT_EQ(fake().fail(entry.c_str(), 1, what.error), 0);
    const outback_status status = slot.call(world);
    fake().clear_faults();
    if (what.status != OUTBACK_DEVICE_LOST) {  // which CUDA itself goes on to answer
      EXPECT_EQ(fake_cuda_functions().cudaGetLastError(), cudaSuccess) << "left for somebody else";
    }
    const bool reached = fake().calls(entry.c_str()) != calls;
    if (!reached || is_harmless(slot, entry)) {
      EXPECT_EQ(status, OUTBACK_OK) << world.t().last_error(world.self());
    } else {
      EXPECT_EQ(status, what.status);
      EXPECT_THAT(world.t().last_error(world.self()),
                  AllOf(HasSubstr(what.words), HasSubstr(", in " + entry)));
    }
    if (entry != "cuCtxPopCurrent" && slot.name != "device_state.select") {
      EXPECT_EQ(current(), before) << "the current context changed";
    }
    return reached;
  }
};

TEST_P(CudaErrorTest, ArrivesAndLeavesNothingBehind) {
  for (const std::string& entry : entry_points()) {
    SCOPED_TRACE(entry);
    const int alive = fake().live(nullptr);
    {
      slot_world world;
      plant(world, entry, plain);
    }
    EXPECT_EQ(fake().live(nullptr), alive) << "objects were lost";
  }
  EXPECT_EQ(fake().violations(), 0) << fake().violation(0);
}

TEST_P(CudaErrorTest, OneThatIsStickyLosesTheDevice) {
  for (const std::string& entry : entry_points()) {
    SCOPED_TRACE(entry);
    slot_world world;
    if (!plant(world, entry, sticky) || is_harmless(GetParam(), entry)) continue;
    // CUDA has said nothing about other devices.
    EXPECT_EQ(world.t().device_sync(world.self(), slot_world::device), OUTBACK_DEVICE_LOST);
    EXPECT_THAT(world.t().last_error(world.self()), HasSubstr(sticky.words));
    EXPECT_EQ(world.t().device_sync(world.self(), 0), OUTBACK_OK);
  }
}

TEST(CudaLostDeviceTest, ItsEventsAreNotWaitedFor) {
  slot_world world;
  const outback_runtime& t = world.t();
  void* ptr = nullptr;
  ASSERT_EQ(fake().fail("cudaMalloc", 1, sticky.error), 0);
  EXPECT_EQ(t.mem_alloc(t.self, slot_world::device, 64, &ptr), OUTBACK_DEVICE_LOST);
  EXPECT_EQ(t.events->wait(t.self, 0, world.last, nullptr), OUTBACK_DEVICE_LOST);
  EXPECT_THAT(t.last_error(t.self), HasSubstr("was lost before"));
  EXPECT_EQ(t.device_sync(t.self, 0), OUTBACK_OK) << "the one that waited is not lost";
  fake().revive(slot_world::device);
}

// CUDA says of these that the process has to begin anew, or they end a context in another way.
TEST(CudaStatusTest, WhateverEndsAContextLosesTheDevice) {
  for (const cudaError_t error :
       {cudaErrorECCUncorrectable, cudaErrorNvlinkUncorrectable, cudaErrorContained,
        cudaErrorIllegalAddress, cudaErrorLaunchTimeout, cudaErrorContextIsDestroyed,
        cudaErrorAssert, cudaErrorHardwareStackError, cudaErrorIllegalInstruction,
        cudaErrorMisalignedAddress, cudaErrorInvalidAddressSpace, cudaErrorInvalidPc,
        cudaErrorLaunchFailure, cudaErrorTensorMemoryLeak, cudaErrorMpsClientTerminated,
        cudaErrorExternalDevice}) {
    EXPECT_EQ(status_of(error), OUTBACK_DEVICE_LOST) << error;
  }
}

TEST(CudaPendingTest, ATimeThatIsNotThereYetLeavesNoErrorBehind) {
  slot_world world;
  const outback_runtime& t = world.t();
  std::atomic<bool> open{false};
  const auto wait = [](void* data) {
    while (!static_cast<std::atomic<bool>*>(data)->load()) std::this_thread::yield();
  };
  ASSERT_EQ(t.callbacks->enqueue(t.self, slot_world::device, wait, &open, world.stream),
            OUTBACK_OK);
  EXPECT_EQ(t.events->record(t.self, slot_world::device, world.last, world.stream), OUTBACK_OK);
  int64_t ns = 0;
  EXPECT_EQ(t.events->elapsed(t.self, world.first, world.last, &ns), OUTBACK_NOT_READY);
  EXPECT_EQ(fake_cuda_functions().cudaGetLastError(), cudaSuccess) << "left for somebody else";
  open = true;
  EXPECT_EQ(t.streams->sync(t.self, slot_world::device, world.stream), OUTBACK_OK);
}

// The one that changes the current device.
const slot_case select = {"device_state.select", [](slot_world& w) {
                            return w.t().device_state->select(w.self(), slot_world::device);
                          }};

INSTANTIATE_TEST_SUITE_P(Slots, CudaErrorTest, testing::ValuesIn(every_slot()), test_name);
INSTANTIATE_TEST_SUITE_P(Select, CudaErrorTest, testing::Values(select), test_name);

}  // namespace
}  // namespace outback::cuda
