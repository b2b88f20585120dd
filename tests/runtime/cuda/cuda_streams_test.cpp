// Streams: what kind of CUDA's they are, and those that somebody else made.
#include <gmock/gmock.h>

#include <thread>

#include "tests/runtime/cuda/every_slot.hpp"
#include "tests/runtime/cuda/fake.hpp"

namespace outback::cuda {
namespace {

using testing::HasSubstr;

class CudaStreamTest : public testing::Test {
 protected:
  static constexpr int32_t d = slot_world::device;
  void* native(outback_stream stream) {
    void* handle = this;
    EXPECT_EQ(t_.native->stream(t_.self, d, stream, &handle), OUTBACK_OK);
    return handle;
  }
  unsigned flags(outback_stream stream) {
    unsigned flags = 77;
    EXPECT_EQ(fake().stream_flags(static_cast<cudaStream_t>(native(stream)), &flags), cudaSuccess);
    return flags;
  }
  int priority(outback_stream stream) {
    int priority = 77;
    EXPECT_EQ(fake().stream_priority(static_cast<cudaStream_t>(native(stream)), &priority),
              cudaSuccess);
    return priority;
  }

  slot_world world_;
  const outback_runtime& t_ = world_.t();
};

// A blocking one would wait for the legacy default stream of whoever else uses CUDA, and it for
// them.
TEST_F(CudaStreamTest, AllAreNonBlocking) {
  EXPECT_EQ(flags(world_.stream), unsigned{cudaStreamNonBlocking});
  EXPECT_EQ(flags(nullptr), unsigned{cudaStreamNonBlocking});
}

TEST_F(CudaStreamTest, TheDefaultStreamIsOneForAllThreads) {
  const void* here = native(nullptr);
  EXPECT_NE(here, nullptr);
  const void* there = nullptr;
  std::thread([&] { there = native(nullptr); }).join();
  EXPECT_EQ(here, there);
}

TEST_F(CudaStreamTest, PrioritiesAreClamped) {
  int32_t least = 0, greatest = 0;
  ASSERT_EQ(t_.streams->priorities(t_.self, d, &least, &greatest), OUTBACK_OK);
  for (const auto& [asked, given] :
       {std::pair(0, 0), {least, least}, {greatest, greatest}, {100, least}, {-100, greatest}}) {
    outback_stream s = nullptr;
    ASSERT_EQ(t_.streams->create(t_.self, d, asked, &s), OUTBACK_OK);
    EXPECT_EQ(priority(s), given);
    EXPECT_EQ(t_.streams->destroy(t_.self, d, s), OUTBACK_OK);
  }
}

TEST_F(CudaStreamTest, CudasOwnDefaultStreamsCanBeWrapped) {
  for (void* const handle : {static_cast<void*>(nullptr), static_cast<void*>(cudaStreamLegacy),
                             static_cast<void*>(cudaStreamPerThread)}) {
    outback_stream wrapped = nullptr;
    ASSERT_EQ(t_.native->wrap_stream(t_.self, d, handle, &wrapped), OUTBACK_OK);
    EXPECT_EQ(native(wrapped), handle);
    EXPECT_EQ(t_.mem_fill(t_.self, d, world_.memory, slot_world::size, "1", 1, wrapped),
              OUTBACK_OK);
    EXPECT_EQ(t_.events->record(t_.self, d, world_.first, wrapped), OUTBACK_OK);
    EXPECT_EQ(t_.streams->sync(t_.self, d, wrapped), OUTBACK_OK);
    EXPECT_EQ(t_.events->query(t_.self, d, world_.first), OUTBACK_OK);
    EXPECT_EQ(t_.streams->destroy(t_.self, d, wrapped), OUTBACK_OK);
  }
}

TEST_F(CudaStreamTest, AStreamOfAnotherDeviceIsNotWrapped) {
  outback_stream wrapped = nullptr;
  EXPECT_EQ(t_.native->wrap_stream(t_.self, 0, native(world_.stream), &wrapped),
            OUTBACK_INVALID_ARGUMENT);
  EXPECT_THAT(t_.last_error(t_.self), HasSubstr("of device 1, not of device 0"));
}

TEST_F(CudaStreamTest, ObjectsOfAnotherDeviceAreRefused) {
  EXPECT_EQ(t_.streams->query(t_.self, 0, world_.stream), OUTBACK_INVALID_ARGUMENT);
  EXPECT_EQ(t_.streams->destroy(t_.self, 0, world_.stream), OUTBACK_INVALID_ARGUMENT);
  EXPECT_EQ(t_.events->record(t_.self, 0, world_.first, nullptr), OUTBACK_INVALID_ARGUMENT);
  EXPECT_EQ(t_.events->destroy(t_.self, 0, world_.first), OUTBACK_INVALID_ARGUMENT);
  EXPECT_EQ(t_.graphs->launch(t_.self, 0, world_.ready, nullptr), OUTBACK_INVALID_ARGUMENT);
  EXPECT_EQ(t_.graphs->destroy(t_.self, 0, world_.ready), OUTBACK_INVALID_ARGUMENT);
  EXPECT_EQ(t_.mem_free(t_.self, 0, world_.memory), OUTBACK_INVALID_ARGUMENT);
  EXPECT_EQ(t_.mem_free(t_.self, d, world_.pinned), OUTBACK_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace outback::cuda
