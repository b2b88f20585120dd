// Events: what they stand for, timing, wrong uses.
#include <atomic>
#include <thread>

#include "tests/fakes/cudart/fake_test.hpp"

namespace fake_cuda {
namespace {

class EventTest : public FakeTest {
 protected:
  void SetUp() override {
    FakeTest::SetUp();
    first_ = new_stream();
    second_ = new_stream();
  }
  void TearDown() override {
    EXPECT_CUDA(cudaStreamDestroy(first_));
    EXPECT_CUDA(cudaStreamDestroy(second_));
    FakeTest::TearDown();
  }
  cudaStream_t first_ = nullptr, second_ = nullptr;
};

TEST_F(EventTest, OneThatWasNeverRecordedIsComplete) {
  const cudaEvent_t e = new_event();
  EXPECT_CUDA(cudaEventQuery(e));
  EXPECT_CUDA(cudaEventSynchronize(e));
  EXPECT_CUDA(cudaStreamWaitEvent(first_, e, 0));
  EXPECT_CUDA(cudaStreamQuery(first_));
  EXPECT_CUDA(cudaEventDestroy(e));
}

TEST_F(EventTest, AWaitKeepsItsMeaning) {
  const cudaEvent_t e = new_event();
  std::byte* const data = new_memory(8);
  gate closed(first_);
  EXPECT_CUDA(cudaMemsetAsync(data, 1, 8, first_));
  EXPECT_CUDA(cudaEventRecord(e, first_));
  EXPECT_CUDA(cudaStreamWaitEvent(second_, e, 0));
  EXPECT_CUDA(cudaEventRecord(e, second_));  // behind the wait for what it was before
  EXPECT_EQ(cudaEventQuery(e), cudaErrorNotReady);
  EXPECT_CUDA(cudaEventDestroy(e));
  EXPECT_CUDA(cudaMemsetAsync(data, 2, 8, second_));
  closed.open();
  EXPECT_CUDA(cudaStreamSynchronize(second_));
  EXPECT_EQ(peek(data, 8), all(8, 2));
  EXPECT_CUDA(cudaFree(data));
}

TEST_F(EventTest, TheLatestRecordCounts) {
  const cudaEvent_t e = new_event();
  EXPECT_CUDA(cudaEventRecord(e, second_));
  EXPECT_CUDA(cudaEventSynchronize(e));
  gate closed(first_);
  EXPECT_CUDA(cudaEventRecordWithFlags(e, first_, 0));
  EXPECT_EQ(cudaEventQuery(e), cudaErrorNotReady);
  EXPECT_EQ(cudaGetLastError(), cudaErrorNotReady);
  closed.open();
  EXPECT_CUDA(cudaEventSynchronize(e));
  EXPECT_CUDA(cudaEventDestroy(e));
}

TEST_F(EventTest, TimesAreOfTheWork) {
  const cudaEvent_t from = new_event(0), to = new_event(0);
  EXPECT_CUDA(cudaEventRecord(from, first_));
  gate closed(first_);
  EXPECT_CUDA(cudaEventRecord(to, first_));
  float ms = -1;
  EXPECT_EQ(cudaEventElapsedTime(&ms, from, to), cudaErrorNotReady);
  EXPECT_EQ(ms, -1);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  closed.open();
  EXPECT_CUDA(cudaEventSynchronize(to));
  EXPECT_CUDA(cudaEventElapsedTime(&ms, from, to));
  EXPECT_GE(ms, 15);
  EXPECT_CUDA(cudaEventElapsedTime(&ms, to, from));
  EXPECT_LE(ms, -15);
  EXPECT_CUDA(cudaEventDestroy(from));
  EXPECT_CUDA(cudaEventDestroy(to));
}

TEST_F(EventTest, TimesNeedTwoTimedRecordsOfOneDevice) {
  const cudaEvent_t timed = new_event(0), untimed = new_event(), unrecorded = new_event(0);
  EXPECT_CUDA(cudaEventRecord(timed, first_));
  EXPECT_CUDA(cudaEventRecord(untimed, first_));
  EXPECT_CUDA(cudaStreamSynchronize(first_));
  float ms = 0;
  EXPECT_EQ(cudaEventElapsedTime(&ms, timed, untimed), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaEventElapsedTime(&ms, unrecorded, timed), cudaErrorInvalidResourceHandle);
  ASSERT_CUDA(cudaSetDevice(1));
  const cudaEvent_t other = new_event(0);
  EXPECT_CUDA(cudaEventRecord(other, nullptr));
  EXPECT_CUDA(cudaEventSynchronize(other));
  EXPECT_EQ(cudaEventElapsedTime(&ms, timed, other), cudaErrorInvalidResourceHandle);
  for (const cudaEvent_t each : {timed, untimed, unrecorded, other}) {
    EXPECT_CUDA(cudaEventDestroy(each));
  }
}

TEST_F(EventTest, IsRecordedOnItsDeviceAndAwaitedOnAny) {
  const cudaEvent_t e = new_event();
  ASSERT_CUDA(cudaSetDevice(1));
  const cudaStream_t other = new_stream();
  EXPECT_EQ(cudaEventRecord(e, other), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaEventRecord(e, nullptr), cudaErrorInvalidResourceHandle);  // device 1's
  gate closed(other);
  EXPECT_CUDA(cudaEventRecord(e, first_));
  EXPECT_CUDA(cudaStreamWaitEvent(other, e, 0));
  closed.open();
  EXPECT_CUDA(cudaStreamSynchronize(other));
  EXPECT_CUDA(cudaStreamDestroy(other));
  EXPECT_CUDA(cudaEventDestroy(e));
}

TEST_F(EventTest, FlagsAreChecked) {
  cudaEvent_t none = nullptr;
  EXPECT_EQ(cudaEventCreateWithFlags(&none, cudaEventInterprocess), cudaErrorInvalidValue);
  EXPECT_EQ(cudaEventCreateWithFlags(&none, 64), cudaErrorInvalidValue);
  EXPECT_EQ(none, nullptr);
}

TEST_F(EventTest, UsedAfterItsEndIsAMisuse) {
  const cudaEvent_t e = new_event();
  EXPECT_CUDA(cudaEventDestroy(e));
  EXPECT_EQ(cudaEventRecord(e, first_), cudaErrorInvalidResourceHandle);
  expect_misuse("cudaEventRecord: the event was destroyed");
  EXPECT_EQ(cudaEventDestroy(e), cudaErrorInvalidResourceHandle);
  expect_misuse("destroyed before");
  EXPECT_EQ(cudaEventQuery(nullptr), cudaErrorInvalidResourceHandle);
}

}  // namespace
}  // namespace fake_cuda
