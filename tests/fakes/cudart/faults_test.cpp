// Planned faults, and devices that are lost.
#include <atomic>

#include "tests/fakes/cudart/child.hpp"
#include "tests/fakes/cudart/fake_test.hpp"

namespace fake_cuda {
namespace {

TEST(Faults, ComeAtTheirCall) {
  expect_well(in_child({}, [] {
    void* data = &data;
    void* const untouched = data;
    ASSERT_EQ(fake_cudart_fail("cudaMalloc", 2, cudaErrorMemoryAllocation), 0);
    EXPECT_CUDA(cudaMalloc(&data, 16));
    EXPECT_CUDA(cudaFree(data));
    data = untouched;
    EXPECT_EQ(cudaMalloc(&data, 16), cudaErrorMemoryAllocation);
    EXPECT_EQ(data, untouched);
    EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
    EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
    EXPECT_CUDA(cudaMalloc(&data, 16));
    EXPECT_CUDA(cudaFree(data));
    EXPECT_EQ(fake_cudart_calls("cudaMalloc"), 3u);
    EXPECT_EQ(fake_cudart_live(nullptr), 0);
    EXPECT_EQ(fake_cudart_violations() + fake_cudart_refusals(), 0);
  }));
}

TEST(Faults, OfEveryCallGoOnUntilTheyAreForgotten) {
  expect_well(in_child({}, [] {
    cudaEvent_t e = nullptr;
    ASSERT_EQ(fake_cudart_fail("cudaEventCreateWithFlags", 0, cudaErrorUnknown), 0);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(cudaEventCreateWithFlags(&e, 0), cudaErrorUnknown);
    fake_cudart_clear_faults();
    EXPECT_CUDA(cudaEventCreateWithFlags(&e, 0));
    EXPECT_CUDA(cudaEventDestroy(e));
  }));
}

TEST(Faults, AReleaseReleasesAllTheSame) {
  expect_well(in_child({}, [] {
    void *data = nullptr, *pinned = nullptr;
    cudaStream_t s = nullptr;
    cudaEvent_t e = nullptr;
    EXPECT_CUDA(cudaMalloc(&data, 16));
    EXPECT_CUDA(cudaMallocHost(&pinned, 16));
    EXPECT_CUDA(cudaStreamCreate(&s));
    EXPECT_CUDA(cudaEventCreate(&e));
    for (const char* name : {"cudaFree", "cudaFreeHost", "cudaStreamDestroy", "cudaEventDestroy"}) {
      ASSERT_EQ(fake_cudart_fail(name, 1, cudaErrorLaunchFailure), 0);
    }
    EXPECT_EQ(cudaFree(data), cudaErrorLaunchFailure);
    EXPECT_EQ(cudaFreeHost(pinned), cudaErrorLaunchFailure);
    EXPECT_EQ(cudaStreamDestroy(s), cudaErrorLaunchFailure);
    EXPECT_EQ(cudaEventDestroy(e), cudaErrorLaunchFailure);
    EXPECT_EQ(fake_cudart_live(nullptr), 0);
  }));
}

TEST(Faults, OfTheDriverAndOfTheEnvironment) {
  expect_well(in_child({{"FAKE_CUDART_FAULTS", "cudaMalloc:2=2,cuDeviceGet=100"}}, [] {
    void* data = nullptr;
    int device = 0;
    EXPECT_CUDA(cudaMalloc(&data, 16));
    void* none = nullptr;
    EXPECT_EQ(cudaMalloc(&none, 16), cudaErrorMemoryAllocation);
    EXPECT_CUDA(cudaFree(data));
    void* found = nullptr;
    EXPECT_CUDA(cudaGetDriverEntryPointByVersion("cuDeviceGet", &found, 12000, 0, nullptr));
    const auto get = reinterpret_cast<CUresult (*)(CUdevice*, int)>(found);
    EXPECT_EQ(get(&device, 0), CUDA_ERROR_NO_DEVICE);
    EXPECT_EQ(get(&device, 0), CUDA_SUCCESS);
  }));
  EXPECT_TRUE(
      in_child({{"FAKE_CUDART_FAULTS", "cudaMalloc"}}, [] { cudaFree(nullptr); }).exited(2));
}

TEST(Faults, OfNothingThatThereIsAreRefused) {
  const auto ended = in_child({}, [] {
    EXPECT_EQ(fake_cudart_fail("cudaMaloc", 1, 2), -1);
    EXPECT_EQ(fake_cudart_fail("fake_cudart_fail", 1, 2), -1);
    EXPECT_EQ(fake_cudart_fail("cudaMalloc", -1, 2), -1);
    EXPECT_EQ(fake_cudart_fail(nullptr, 1, 2), -1);
  });
  expect_well(ended);
  EXPECT_NE(ended.said.find("fake_cudart_fail(cudaMaloc, 1, 2): expected an entry point"),
            std::string::npos);
}

// Of work that fails when it runs: nothing more works on the device, and all works on the other.
TEST(LostDevice, AnswersNothingElse) {
  expect_well(in_child({}, [] {
    cudaStream_t s = nullptr, other = nullptr;
    cudaEvent_t e = nullptr;
    void *data = nullptr, *none = nullptr;
    std::atomic<int> runs = 0;
    EXPECT_CUDA(cudaSetDevice(1));
    EXPECT_CUDA(cudaStreamCreate(&other));
    EXPECT_CUDA(cudaSetDevice(0));
    EXPECT_CUDA(cudaStreamCreate(&s));
    EXPECT_CUDA(cudaEventCreate(&e));
    EXPECT_CUDA(cudaMalloc(&data, 64));
    EXPECT_CUDA(cudaMemset(data, 1, 64));
    ASSERT_EQ(fake_cudart_fail("@fill", 1, cudaErrorIllegalAddress), 0);
    {
      gate closed(s);
      EXPECT_CUDA(cudaMemsetAsync(data, 2, 64, s));  // it fails later
      EXPECT_CUDA(cudaEventRecord(e, s));
      EXPECT_CUDA(cudaLaunchHostFunc(
          s, [](void* count) { ++*static_cast<std::atomic<int>*>(count); }, &runs));
      closed.open();
      EXPECT_EQ(cudaStreamSynchronize(s), cudaErrorIllegalAddress);
    }
    EXPECT_EQ(runs, 0);
    std::byte first{};
    EXPECT_EQ(fake_cudart_peek(&first, data, 1), 0);
    EXPECT_EQ(first, std::byte{1});
    EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress);
    EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress);  // which nothing clears
    EXPECT_EQ(cudaStreamQuery(s), cudaErrorIllegalAddress);
    EXPECT_EQ(cudaEventQuery(e), cudaErrorIllegalAddress);
    EXPECT_EQ(cudaEventSynchronize(e), cudaErrorIllegalAddress);
    EXPECT_EQ(cudaMalloc(&none, 16), cudaErrorIllegalAddress);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    EXPECT_EQ(cudaSetDevice(0), cudaErrorIllegalAddress);
    EXPECT_CUDA(cudaSetDevice(1));
    EXPECT_CUDA(cudaStreamSynchronize(other));
    EXPECT_EQ(cudaStreamQuery(s), cudaErrorIllegalAddress);
    EXPECT_CUDA(cudaStreamDestroy(other));
    // What is released is gone, though the answer stays what it is.
    EXPECT_EQ(cudaFree(data), cudaErrorIllegalAddress);
    EXPECT_EQ(cudaEventDestroy(e), cudaErrorIllegalAddress);
    EXPECT_EQ(cudaStreamDestroy(s), cudaErrorIllegalAddress);
    EXPECT_EQ(fake_cudart_live(nullptr), 0);
    fake_cudart_revive(0);
    EXPECT_CUDA(cudaSetDevice(0));
    EXPECT_EQ(fake_cudart_violations(), 0);
  }));
}

TEST(LostDevice, ByACopyOrAHostFunctionToo) {
  for (const char* work : {"@copy", "@host"}) {
    expect_well(in_child({{"FAKE_CUDART_FAULTS", std::string(work) + ":2=719"}}, [] {
      void *data = nullptr, *pinned = nullptr;
      EXPECT_CUDA(cudaMalloc(&data, 64));
      EXPECT_CUDA(cudaMallocHost(&pinned, 64));
      for (int i = 0; i < 2; ++i) {
        cudaMemcpyAsync(data, pinned, 64, cudaMemcpyDefault, nullptr);
        cudaLaunchHostFunc(nullptr, [](void*) {}, nullptr);
      }
      EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
    }));
  }
}

TEST(LostDevice, ErrorsHaveCudasNamesAndTexts) {
  EXPECT_STREQ(cudaGetErrorName(cudaErrorIllegalAddress), "cudaErrorIllegalAddress");
  EXPECT_STREQ(cudaGetErrorString(cudaErrorIllegalAddress),
               "an illegal memory access was encountered");
  EXPECT_STREQ(cudaGetErrorName(cudaError_t(12345)), "unrecognized error code");
  EXPECT_STREQ(cudaGetErrorString(cudaError_t(12345)), "unrecognized error code");
}

}  // namespace
}  // namespace fake_cuda
