// Captures, graphs and launches.
#include <atomic>
#include <functional>
#include <thread>

#include "tests/fakes/cudart/fake_test.hpp"

namespace fake_cuda {
namespace {

class CaptureTest : public FakeTest {
 protected:
  void SetUp() override {
    FakeTest::SetUp();
    stream_ = new_stream();
    other_ = new_stream();
    event_ = new_event();
    data_ = new_memory(size);
  }
  void TearDown() override {
    EXPECT_CUDA(cudaEventDestroy(event_));
    EXPECT_CUDA(cudaStreamDestroy(stream_));
    EXPECT_CUDA(cudaStreamDestroy(other_));
    EXPECT_CUDA(cudaDeviceSynchronize());
    EXPECT_CUDA(cudaFree(data_));
    FakeTest::TearDown();
  }
  void begin(cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal) {
    EXPECT_CUDA(cudaStreamBeginCapture(stream_, mode));
  }
  void fill(int value, cudaStream_t on) { EXPECT_CUDA(cudaMemsetAsync(data_, value, size, on)); }
  cudaGraphExec_t end() {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t made = nullptr;
    EXPECT_CUDA(cudaStreamEndCapture(stream_, &graph));
    EXPECT_CUDA(cudaGraphInstantiateWithFlags(&made, graph, 0));
    EXPECT_CUDA(cudaGraphDestroy(graph));
    return made;
  }
  int driver_status() {
    using function = CUresult(CUstream, CUstreamCaptureStatus*);
    void* asked = nullptr;
    CUstreamCaptureStatus found = CU_STREAM_CAPTURE_STATUS_NONE;
    EXPECT_CUDA(cudaGetDriverEntryPoint("cuStreamIsCapturing", &asked, 0, nullptr));
    EXPECT_EQ(reinterpret_cast<function*>(asked)(stream_, &found), CUDA_SUCCESS);
    return int(found);
  }
  cudaStreamCaptureStatus status() {
    auto found = cudaStreamCaptureStatusNone;
    EXPECT_CUDA(cudaStreamIsCapturing(stream_, &found));
    EXPECT_EQ(driver_status(), int(found));
    return found;
  }
  // The capture is invalid, and ends so.
  void expect_invalid() {
    EXPECT_EQ(status(), cudaStreamCaptureStatusInvalidated);
    EXPECT_EQ(cudaMemsetAsync(data_, 1, 1, stream_), cudaErrorStreamCaptureInvalidated);
    expect_end(cudaErrorStreamCaptureInvalidated);
  }
  void expect_end(cudaError_t error) {
    auto graph = reinterpret_cast<cudaGraph_t>(this);
    EXPECT_EQ(cudaStreamEndCapture(stream_, &graph), error);
    EXPECT_EQ(graph, nullptr);
    EXPECT_EQ(status(), cudaStreamCaptureStatusNone);
    EXPECT_CUDA(cudaStreamSynchronize(stream_));
  }

  static constexpr std::size_t size = 64;
  cudaStream_t stream_ = nullptr, other_ = nullptr;
  cudaEvent_t event_ = nullptr;
  std::byte* data_ = nullptr;
};

TEST_F(CaptureTest, WhatWasCapturedRunsInLaunches) {
  fill(1, stream_);
  EXPECT_CUDA(cudaStreamSynchronize(stream_));
  begin();
  EXPECT_EQ(status(), cudaStreamCaptureStatusActive);
  fill(2, stream_);
  const cudaGraphExec_t exec = end();
  EXPECT_EQ(peek(data_, size), all(size, 1));
  EXPECT_CUDA(cudaGraphUpload(exec, other_));
  for (const int value : {3, 4}) {
    fill(value, other_);
    EXPECT_CUDA(cudaGraphLaunch(exec, other_));
    EXPECT_CUDA(cudaStreamSynchronize(other_));
    EXPECT_EQ(peek(data_, size), all(size, 2));
  }
  EXPECT_CUDA(cudaGraphExecDestroy(exec));
}

TEST_F(CaptureTest, AnEventBringsAnotherStreamIn) {
  begin();
  fill(1, stream_);
  EXPECT_CUDA(cudaEventRecord(event_, stream_));
  EXPECT_CUDA(cudaStreamWaitEvent(other_, event_, 0));
  fill(2, other_);
  EXPECT_CUDA(cudaEventRecord(event_, other_));
  EXPECT_CUDA(cudaStreamWaitEvent(stream_, event_, 0));
  const cudaGraphExec_t exec = end();
  EXPECT_CUDA(cudaGraphLaunch(exec, stream_));
  EXPECT_CUDA(cudaStreamSynchronize(stream_));
  EXPECT_EQ(peek(data_, size), all(size, 2));
  EXPECT_CUDA(cudaStreamQuery(other_));  // it is in no capture any more
  EXPECT_CUDA(cudaGraphExecDestroy(exec));
}

TEST_F(CaptureTest, AStreamThatIsNotJoinedIsRefused) {
  begin();
  EXPECT_CUDA(cudaEventRecord(event_, stream_));
  EXPECT_CUDA(cudaStreamWaitEvent(other_, event_, 0));
  fill(2, other_);
  expect_end(cudaErrorStreamCaptureUnjoined);
}

TEST_F(CaptureTest, LaunchesOfOneGraphRunOneAfterAnother) {
  std::atomic<int> running = 0;
  begin();
  EXPECT_CUDA(cudaLaunchHostFunc(
      stream_,
      [](void* counter) {
        auto& count = *static_cast<std::atomic<int>*>(counter);
        EXPECT_EQ(++count, 1);
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        --count;
      },
      &running));
  const cudaGraphExec_t exec = end();
  for (int i = 0; i < 5; ++i) {
    EXPECT_CUDA(cudaGraphLaunch(exec, stream_));
    EXPECT_CUDA(cudaGraphLaunch(exec, other_));
  }
  EXPECT_CUDA(cudaGraphExecDestroy(exec));
  EXPECT_CUDA(cudaStreamSynchronize(stream_));
  EXPECT_CUDA(cudaStreamSynchronize(other_));
}

TEST_F(CaptureTest, ALaunchInACaptureBecomesAPartOfIt) {
  begin();
  fill(5, stream_);
  const cudaGraphExec_t inner = end();
  begin();
  fill(1, stream_);
  EXPECT_CUDA(cudaGraphLaunch(inner, stream_));
  const cudaGraphExec_t outer = end();
  EXPECT_CUDA(cudaGraphLaunch(outer, stream_));
  EXPECT_CUDA(cudaStreamSynchronize(stream_));
  EXPECT_EQ(peek(data_, size), all(size, 5));
  EXPECT_CUDA(cudaGraphExecDestroy(inner));
  EXPECT_CUDA(cudaGraphExecDestroy(outer));
}

TEST_F(CaptureTest, AskingOrWaitingBreaksIt) {
  int device = -1;
  const std::pair<cudaError_t, std::function<cudaError_t()>> calls[] = {
      {cudaErrorStreamCaptureUnsupported, [&] { return cudaStreamSynchronize(stream_); }},
      {cudaErrorStreamCaptureUnsupported, [&] { return cudaStreamQuery(stream_); }},
      {cudaErrorStreamCaptureUnsupported, [&] { return cudaStreamGetDevice(stream_, &device); }},
      {cudaErrorStreamCaptureUnsupported, [&] { return cudaDeviceSynchronize(); }},
      {cudaErrorCapturedEvent, [&] { return cudaEventSynchronize(event_); }},
      {cudaErrorCapturedEvent, [&] { return cudaEventQuery(event_); }}};
  for (const auto& [error, call] : calls) {
    begin(cudaStreamCaptureModeRelaxed);
    EXPECT_CUDA(cudaEventRecord(event_, stream_));
    EXPECT_EQ(call(), error);
    expect_invalid();
  }
}

TEST_F(CaptureTest, UnsafeCallsBreakItAsItsModeSays) {
  const auto allocate = [] {
    void* made = nullptr;
    const cudaError_t error = cudaMalloc(&made, 16);
    if (error == cudaSuccess) {
      auto mode = cudaStreamCaptureModeRelaxed;
      EXPECT_CUDA(cudaThreadExchangeStreamCaptureMode(&mode));
      EXPECT_CUDA(cudaFree(made));
      EXPECT_CUDA(cudaThreadExchangeStreamCaptureMode(&mode));
    }
    return error;
  };
  const auto allocate_on_another_thread = [&] {
    return std::async(std::launch::async, allocate).get();
  };
  begin(cudaStreamCaptureModeRelaxed);
  EXPECT_CUDA(allocate());
  EXPECT_CUDA(allocate_on_another_thread());
  EXPECT_CUDA(cudaGraphExecDestroy(end()));

  begin(cudaStreamCaptureModeThreadLocal);
  EXPECT_CUDA(allocate_on_another_thread());
  EXPECT_EQ(allocate(), cudaErrorStreamCaptureUnsupported);
  expect_invalid();

  begin(cudaStreamCaptureModeGlobal);
  EXPECT_EQ(allocate_on_another_thread(), cudaErrorStreamCaptureUnsupported);
  expect_invalid();

  begin(cudaStreamCaptureModeGlobal);
  auto mode = cudaStreamCaptureModeRelaxed;
  EXPECT_CUDA(cudaThreadExchangeStreamCaptureMode(&mode));
  EXPECT_EQ(mode, cudaStreamCaptureModeGlobal);
  EXPECT_CUDA(allocate());
  EXPECT_CUDA(cudaThreadExchangeStreamCaptureMode(&mode));
  EXPECT_CUDA(cudaGraphExecDestroy(end()));
}

TEST_F(CaptureTest, NothingCrossesItsBoundary) {
  const cudaEvent_t outside = new_event();
  EXPECT_CUDA(cudaEventRecord(outside, other_));
  begin();
  EXPECT_EQ(cudaStreamWaitEvent(stream_, outside, 0), cudaErrorStreamCaptureIsolation);
  expect_invalid();

  begin();
  EXPECT_CUDA(cudaStreamBeginCapture(other_, cudaStreamCaptureModeGlobal));
  EXPECT_CUDA(cudaEventRecord(outside, other_));
  EXPECT_EQ(cudaStreamWaitEvent(stream_, outside, 0), cudaErrorStreamCaptureMerge);
  cudaGraph_t none = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(other_, &none), cudaErrorStreamCaptureInvalidated);
  expect_invalid();

  // What was recorded in a capture that is over stands for nothing.
  EXPECT_EQ(cudaStreamWaitEvent(stream_, outside, 0), cudaErrorCapturedEvent);
  EXPECT_EQ(cudaEventQuery(outside), cudaErrorCapturedEvent);
  EXPECT_CUDA(cudaEventRecord(outside, stream_));
  EXPECT_CUDA(cudaEventSynchronize(outside));
  EXPECT_CUDA(cudaEventDestroy(outside));
}

TEST_F(CaptureTest, TheLegacyStreamIsNoPartOfOne) {
  EXPECT_EQ(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal),
            cudaErrorStreamCaptureUnsupported);
  begin();
  fill(1, nullptr);  // the captured stream is not a blocking one
  EXPECT_CUDA(cudaGraphExecDestroy(end()));
  const cudaStream_t blocking = new_stream(cudaStreamDefault);
  EXPECT_CUDA(cudaStreamBeginCapture(blocking, cudaStreamCaptureModeGlobal));
  EXPECT_EQ(cudaMemsetAsync(data_, 1, 1, nullptr), cudaErrorStreamCaptureImplicit);
  cudaGraph_t none = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(blocking, &none), cudaErrorStreamCaptureInvalidated);
  EXPECT_CUDA(cudaStreamDestroy(blocking));
}

TEST_F(CaptureTest, EndsWhereItBegan) {
  cudaGraph_t none = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(stream_, &none), cudaErrorIllegalState);
  begin();
  EXPECT_EQ(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal), cudaErrorIllegalState);
  EXPECT_EQ(
      std::async(std::launch::async, [&] { return cudaStreamEndCapture(stream_, &none); }).get(),
      cudaErrorStreamCaptureWrongThread);
  EXPECT_CUDA(cudaEventRecord(event_, stream_));
  EXPECT_CUDA(cudaStreamWaitEvent(other_, event_, 0));
  EXPECT_EQ(cudaStreamEndCapture(other_, &none), cudaErrorStreamCaptureUnmatched);
  expect_invalid();
}

TEST_F(CaptureTest, AStreamThatGoesInsideOfOneIsAMisuse) {
  const cudaStream_t s = new_stream();
  EXPECT_CUDA(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
  EXPECT_EQ(cudaStreamDestroy(s), cudaErrorStreamCaptureUnsupported);
  expect_misuse("was being captured");
  EXPECT_CUDA(cudaStreamSynchronize(stream_));  // no capture is left
}

TEST_F(CaptureTest, LaunchingWithMemoryThatIsGoneIsAMisuse) {
  std::byte* const gone = new_memory(8);
  begin();
  EXPECT_CUDA(cudaMemsetAsync(gone, 1, 8, stream_));
  const cudaGraphExec_t exec = end();
  EXPECT_CUDA(cudaFree(gone));
  EXPECT_EQ(cudaGraphLaunch(exec, stream_), cudaErrorInvalidValue);
  expect_misuse("memory that was freed");
  EXPECT_CUDA(cudaGraphExecDestroy(exec));
  EXPECT_EQ(cudaGraphLaunch(exec, stream_), cudaErrorInvalidValue);
  expect_misuse("was destroyed");
}

TEST_F(CaptureTest, TellsItsGraph) {
  begin();
  fill(1, stream_);
  auto found = cudaStreamCaptureStatusNone;
  unsigned long long id = 0;
  cudaGraph_t inside = nullptr;
  const cudaGraphNode_t* nodes = nullptr;
  size_t count = 0;
#if CUDART_VERSION >= 13000
  EXPECT_CUDA(cudaStreamGetCaptureInfo(stream_, &found, &id, &inside, &nodes, nullptr, &count));
#else
  EXPECT_CUDA(cudaStreamGetCaptureInfo(stream_, &found, &id, &inside, &nodes, &count));
#endif
  EXPECT_EQ(found, cudaStreamCaptureStatusActive);
  EXPECT_NE(id, 0u);
  EXPECT_EQ(count, 1u);
  cudaGraph_t graph = nullptr;
  EXPECT_CUDA(cudaStreamEndCapture(stream_, &graph));
  EXPECT_EQ(graph, inside);
  EXPECT_CUDA(cudaGraphGetNodes(graph, nullptr, &count));
  EXPECT_EQ(count, 1u);
  EXPECT_CUDA(cudaGraphDestroy(graph));
}

TEST_F(CaptureTest, AGraphKeepsUserObjectsUntilItAndWhatWasMadeOfItAreGone) {
  int gone = 0;
  const auto destroy = [](void* of) { ++*static_cast<int*>(of); };
  cudaUserObject_t object = nullptr;
  EXPECT_CUDA(cudaUserObjectCreate(&object, &gone, destroy, 2, cudaUserObjectNoDestructorSync));
  cudaGraph_t graph = nullptr;
  EXPECT_CUDA(cudaGraphCreate(&graph, 0));
  EXPECT_CUDA(cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove));
  EXPECT_CUDA(cudaUserObjectRelease(object, 1));
  EXPECT_EQ(cudaUserObjectRelease(object, 1), cudaErrorInvalidValue) << "ours are gone";
  cudaGraphExec_t made = nullptr;
  EXPECT_CUDA(cudaGraphInstantiateWithFlags(&made, graph, 0));
  EXPECT_CUDA(cudaGraphDestroy(graph));
  EXPECT_EQ(gone, 0);
  EXPECT_CUDA(cudaGraphExecDestroy(made));
  EXPECT_EQ(gone, 1);
  expect_misuse("is no user object");
}

}  // namespace
}  // namespace fake_cuda
