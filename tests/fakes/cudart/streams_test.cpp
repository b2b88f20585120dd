// Streams: order, the default streams, host functions, wrong handles.
#include <atomic>
#include <string>
#include <thread>

#include "tests/fakes/cudart/fake_test.hpp"

namespace fake_cuda {
namespace {

using StreamTest = FakeTest;

void count_up(void* counter) {
  ++*static_cast<std::atomic<int>*>(counter);
}

TEST_F(StreamTest, WorkRunsInItsOrder) {
  const cudaStream_t s = new_stream();
  std::byte* const data = new_memory(64);
  for (int i = 0; i < 50; ++i) EXPECT_CUDA(cudaMemsetAsync(data, i, 64, s));
  EXPECT_CUDA(cudaStreamSynchronize(s));
  EXPECT_EQ(peek(data, 64), all(64, 49));
  EXPECT_CUDA(cudaStreamQuery(s));
  EXPECT_CUDA(cudaFree(data));
  EXPECT_CUDA(cudaStreamDestroy(s));
}

TEST_F(StreamTest, OneThatIsDestroyedFinishesItsWork) {
  std::atomic<int> runs = 0;
  const cudaStream_t s = new_stream();
  gate closed(s);
  EXPECT_CUDA(cudaLaunchHostFunc(s, count_up, &runs));
  EXPECT_CUDA(cudaStreamDestroy(s));
  EXPECT_EQ(runs, 0);
  closed.open();
  EXPECT_CUDA(cudaDeviceSynchronize());
  EXPECT_EQ(runs, 1);
}

TEST_F(StreamTest, UsedAfterItsEndIsAMisuse) {
  const cudaStream_t s = new_stream();
  EXPECT_CUDA(cudaStreamDestroy(s));
  EXPECT_EQ(cudaStreamQuery(s), cudaErrorInvalidResourceHandle);
  expect_misuse("cudaStreamQuery: the stream was destroyed");
  EXPECT_EQ(cudaStreamDestroy(s), cudaErrorInvalidResourceHandle);
  expect_misuse("destroyed before");
  EXPECT_EQ(cudaStreamQuery(reinterpret_cast<cudaStream_t>(0x1234)),
            cudaErrorInvalidResourceHandle);
  expect_misuse("is no stream");
}

TEST_F(StreamTest, TheLegacyStreamWaitsForBlockingOnes) {
  const cudaStream_t blocking = new_stream(cudaStreamDefault);
  std::byte* const data = new_memory(8);
  gate closed(blocking);
  EXPECT_CUDA(cudaMemsetAsync(data, 1, 8, nullptr));
  EXPECT_EQ(cudaStreamQuery(nullptr), cudaErrorNotReady);
  EXPECT_EQ(peek(data, 8) == all(8, 1), false);
  closed.open();
  EXPECT_CUDA(cudaStreamSynchronize(cudaStreamLegacy));
  EXPECT_EQ(peek(data, 8), all(8, 1));
  EXPECT_CUDA(cudaFree(data));
  EXPECT_CUDA(cudaStreamDestroy(blocking));
}

TEST_F(StreamTest, TheLegacyStreamWaitsForBlockingOnesThatAreGone) {
  const cudaStream_t blocking = new_stream(cudaStreamDefault);
  gate closed(blocking);
  EXPECT_CUDA(cudaStreamDestroy(blocking));
  EXPECT_EQ(cudaStreamQuery(nullptr), cudaErrorNotReady);
  closed.open();
  EXPECT_CUDA(cudaStreamSynchronize(nullptr));
  EXPECT_CUDA(cudaStreamQuery(nullptr));
}

TEST_F(StreamTest, BlockingOnesWaitForTheLegacyStream) {
  const cudaStream_t blocking = new_stream(cudaStreamDefault), free = new_stream();
  gate closed(nullptr);
  std::atomic<int> runs = 0, free_runs = 0, thread_runs = 0;
  EXPECT_CUDA(cudaLaunchHostFunc(blocking, count_up, &runs));
  EXPECT_CUDA(cudaLaunchHostFunc(cudaStreamPerThread, count_up, &thread_runs));
  EXPECT_CUDA(cudaLaunchHostFunc(free, count_up, &free_runs));
  EXPECT_CUDA(cudaStreamSynchronize(free));
  EXPECT_EQ(free_runs, 1);
  EXPECT_EQ(runs, 0);
  EXPECT_EQ(cudaStreamQuery(blocking), cudaErrorNotReady);
  EXPECT_EQ(cudaStreamQuery(cudaStreamPerThread), cudaErrorNotReady);
  closed.open();
  EXPECT_CUDA(cudaStreamSynchronize(blocking));
  EXPECT_CUDA(cudaStreamSynchronize(cudaStreamPerThread));
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(thread_runs, 1);
  EXPECT_CUDA(cudaStreamDestroy(blocking));
  EXPECT_CUDA(cudaStreamDestroy(free));
}

TEST_F(StreamTest, EveryThreadHasItsOwnDefaultStream) {
  gate closed(cudaStreamPerThread);
  std::thread([] {
    EXPECT_CUDA(cudaSetDevice(0));
    EXPECT_CUDA(cudaStreamSynchronize(cudaStreamPerThread));
  }).join();
  EXPECT_EQ(cudaStreamQuery(cudaStreamPerThread), cudaErrorNotReady);
}

TEST_F(StreamTest, TellsWhatItWasMadeWith) {
  int least = 7, greatest = 7, priority = 7, index = 7;
  EXPECT_CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  EXPECT_EQ(least, 0);
  EXPECT_LT(greatest, 0);
  ASSERT_CUDA(cudaSetDevice(1));
  cudaStream_t s = nullptr;
  ASSERT_CUDA(cudaStreamCreateWithPriority(&s, cudaStreamNonBlocking, greatest - 10));
  ASSERT_CUDA(cudaSetDevice(0));
  EXPECT_CUDA(cudaStreamGetPriority(s, &priority));
  EXPECT_EQ(priority, greatest);
  unsigned flags = 7;
  EXPECT_CUDA(cudaStreamGetFlags(s, &flags));
  EXPECT_EQ(flags, unsigned(cudaStreamNonBlocking));
  EXPECT_CUDA(cudaStreamGetDevice(s, &index));
  EXPECT_EQ(index, 1);
  EXPECT_CUDA(cudaStreamDestroy(s));
  EXPECT_EQ(cudaStreamCreateWithFlags(&s, 8), cudaErrorInvalidValue);
}

TEST_F(StreamTest, DeviceSyncWaitsForItsDeviceAlone) {
  ASSERT_CUDA(cudaSetDevice(1));
  const cudaStream_t other = new_stream();
  gate closed(other);
  ASSERT_CUDA(cudaSetDevice(0));
  EXPECT_CUDA(cudaDeviceSynchronize());
  EXPECT_EQ(cudaStreamQuery(other), cudaErrorNotReady);
  closed.open();
  ASSERT_CUDA(cudaSetDevice(1));
  EXPECT_CUDA(cudaDeviceSynchronize());
  EXPECT_CUDA(cudaStreamQuery(other));
  EXPECT_CUDA(cudaStreamDestroy(other));
}

TEST_F(StreamTest, AHostFunctionMayNotCallCuda) {
  const cudaStream_t s = new_stream();
  std::atomic<int> answer = 0;
  EXPECT_CUDA(cudaLaunchHostFunc(
      s,
      [](void* to) {
        int device = 0;
        *static_cast<std::atomic<int>*>(to) = cudaGetDevice(&device);
      },
      &answer));
  EXPECT_CUDA(cudaStreamSynchronize(s));
  EXPECT_EQ(answer, cudaErrorNotPermitted);
  expect_misuse("cudaGetDevice: called in a host function");
  EXPECT_CUDA(cudaStreamDestroy(s));
}

TEST_F(StreamTest, HostFunctionsGoThroughTheCurrentDevice) {
  const cudaStream_t s = new_stream();
  ASSERT_CUDA(cudaSetDevice(1));
  EXPECT_EQ(cudaLaunchHostFunc(s, count_up, nullptr), cudaErrorInvalidResourceHandle);
  EXPECT_NE(std::string(fake_cudart_last_refusal()).find("device 1 is current"), std::string::npos);
  EXPECT_CUDA(cudaStreamQuery(s));
  EXPECT_CUDA(cudaStreamDestroy(s));
}

}  // namespace
}  // namespace fake_cuda
