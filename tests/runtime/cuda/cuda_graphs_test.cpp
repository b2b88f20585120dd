// Captures: what CUDA would take into a graph and the contract does not, and what goes on beside
// them.
#include <gmock/gmock.h>

#include <thread>

#include "tests/runtime/cuda/every_slot.hpp"
#include "tests/runtime/cuda/fake.hpp"

namespace outback::cuda {
namespace {

using testing::HasSubstr;

class CudaGraphTest : public testing::Test {
 protected:
  static constexpr int32_t d = slot_world::device;

  void begin() {
    ASSERT_EQ(t_.graphs->begin(t_.self, d, world_.capturing), OUTBACK_OK);
    world_.captures = true;
  }
  outback_status end() {
    world_.captures = false;
    return t_.graphs->end(t_.self, d, world_.capturing, &world_.made_graph);
  }
  outback_capture status() {
    outback_capture status = -1;
    EXPECT_EQ(t_.graphs->status(t_.self, d, world_.capturing, &status), OUTBACK_OK);
    return status;
  }

  slot_world world_;
  const outback_runtime& t_ = world_.t();
};

TEST_F(CudaGraphTest, AnyThreadMayEndACapture) {
  begin();
  std::thread([&] { EXPECT_EQ(end(), OUTBACK_OK) << t_.last_error(t_.self); }).join();
}

TEST_F(CudaGraphTest, MemoryIsMadeAndFreedMeanwhile) {
  begin();
  const auto make = [&] {
    void *memory = nullptr, *pinned = nullptr;
    outback_stream stream = nullptr;
    outback_event event = nullptr;
    EXPECT_EQ(t_.mem_alloc(t_.self, d, 64, &memory), OUTBACK_OK);
    EXPECT_EQ(t_.host_memory->alloc(t_.self, 64, &pinned), OUTBACK_OK);
    EXPECT_EQ(t_.streams->create(t_.self, d, 0, &stream), OUTBACK_OK);
    EXPECT_EQ(t_.events->create(t_.self, d, 0, &event), OUTBACK_OK);
    EXPECT_EQ(t_.events->record(t_.self, d, event, stream), OUTBACK_OK);
    EXPECT_EQ(t_.events->sync(t_.self, d, event), OUTBACK_OK);
    EXPECT_EQ(t_.events->destroy(t_.self, d, event), OUTBACK_OK);
    EXPECT_EQ(t_.streams->destroy(t_.self, d, stream), OUTBACK_OK);
    EXPECT_EQ(t_.host_memory->free(t_.self, pinned), OUTBACK_OK);
    EXPECT_EQ(t_.mem_free(t_.self, d, memory), OUTBACK_OK);
  };
  make();
  std::thread(make).join();
  EXPECT_EQ(status(), OUTBACK_CAPTURE_ACTIVE);
  EXPECT_EQ(end(), OUTBACK_OK);
}

// torch.cuda.graph captures in CUDA's global mode, in which calls of all other threads that are not
// safe fail, and break its capture.
TEST_F(CudaGraphTest, ACaptureOfOthersInGlobalModeIsLeftAlone) {
  const cudart& cuda = fake_cuda_functions();
  outback_event recorded = world_.first;
  void* handle = nullptr;
  ASSERT_EQ(t_.native->stream(t_.self, d, world_.capturing, &handle), OUTBACK_OK);
  const auto stream = static_cast<cudaStream_t>(handle);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cuda.cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  std::thread([&] {
    void *memory = nullptr, *pinned = nullptr;
    EXPECT_EQ(t_.mem_alloc(t_.self, d, 64, &memory), OUTBACK_OK) << t_.last_error(t_.self);
    EXPECT_EQ(t_.host_memory->alloc(t_.self, 64, &pinned), OUTBACK_OK) << t_.last_error(t_.self);
    EXPECT_EQ(t_.events->query(t_.self, d, recorded), OUTBACK_OK) << t_.last_error(t_.self);
    EXPECT_EQ(t_.events->sync(t_.self, d, recorded), OUTBACK_OK) << t_.last_error(t_.self);
    EXPECT_EQ(t_.streams->query(t_.self, d, world_.stream), OUTBACK_OK) << t_.last_error(t_.self);
    EXPECT_EQ(t_.streams->sync(t_.self, d, world_.stream), OUTBACK_OK) << t_.last_error(t_.self);
    EXPECT_EQ(t_.host_memory->free(t_.self, pinned), OUTBACK_OK) << t_.last_error(t_.self);
    EXPECT_EQ(t_.mem_free(t_.self, d, memory), OUTBACK_OK) << t_.last_error(t_.self);
  }).join();
  ASSERT_EQ(cuda.cudaStreamEndCapture(stream, &graph), cudaSuccess);
  EXPECT_EQ(cuda.cudaGraphDestroy(graph), cudaSuccess);
}

TEST_F(CudaGraphTest, TheThreadsOwnModeStays) {
  const cudart& cuda = fake_cuda_functions();
  for (const auto mode : {cudaStreamCaptureModeThreadLocal, cudaStreamCaptureModeGlobal}) {
    cudaStreamCaptureMode exchanged = mode;
    ASSERT_EQ(cuda.cudaThreadExchangeStreamCaptureMode(&exchanged), cudaSuccess);
    EXPECT_EQ(t_.events->query(t_.self, d, world_.first), OUTBACK_OK);
    void* memory = nullptr;
    EXPECT_EQ(t_.mem_alloc(t_.self, d, 64, &memory), OUTBACK_OK);
    EXPECT_EQ(t_.mem_free(t_.self, d, memory), OUTBACK_OK);
    exchanged = cudaStreamCaptureModeGlobal;
    ASSERT_EQ(cuda.cudaThreadExchangeStreamCaptureMode(&exchanged), cudaSuccess);
    EXPECT_EQ(exchanged, mode);
  }
}

TEST_F(CudaGraphTest, CudasWordsComeWithARefusal) {
  begin();
  EXPECT_EQ(t_.streams->sync(t_.self, d, world_.capturing), OUTBACK_INVALID_ARGUMENT);
  EXPECT_THAT(t_.last_error(t_.self), HasSubstr("cudaErrorStreamCaptureUnsupported (900): "));
  EXPECT_EQ(status(), OUTBACK_CAPTURE_BROKEN);
  EXPECT_EQ(end(), OUTBACK_INVALID_ARGUMENT);
  EXPECT_THAT(t_.last_error(t_.self), HasSubstr("cudaErrorStreamCaptureInvalidated (901): "));
}

TEST_F(CudaGraphTest, PinnedMemoryOfOthersIsNotPageable) {
  begin();
  EXPECT_EQ(t_.mem_copy(t_.self, world_.memory, d, world_.foreign + 4096 + 8, OUTBACK_HOST, 64,
                        world_.capturing),
            OUTBACK_OK)
      << t_.last_error(t_.self);
  EXPECT_EQ(end(), OUTBACK_OK);
  begin();
  EXPECT_EQ(
      t_.mem_copy(t_.self, world_.memory, d, world_.foreign, OUTBACK_HOST, 64, world_.capturing),
      OUTBACK_INVALID_ARGUMENT);
  EXPECT_THAT(t_.last_error(t_.self), HasSubstr("pageable"));
  EXPECT_EQ(status(), OUTBACK_CAPTURE_BROKEN);
  outback_graph none = nullptr;
  world_.captures = false;
  EXPECT_EQ(t_.graphs->end(t_.self, d, world_.capturing, &none), OUTBACK_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace outback::cuda
