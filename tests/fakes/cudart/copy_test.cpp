// Copies and fills: what they write, when they return, what is refused.
#include <atomic>
#include <cstring>

#include "tests/fakes/cudart/fake_test.hpp"

namespace fake_cuda {
namespace {

class CopyTest : public FakeTest {
 protected:
  void SetUp() override {
    FakeTest::SetUp();
    stream_ = new_stream();
    data_ = new_memory(size);
  }
  void TearDown() override {
    EXPECT_CUDA(cudaStreamSynchronize(stream_));
    EXPECT_CUDA(cudaFree(data_));
    EXPECT_CUDA(cudaStreamDestroy(stream_));
    FakeTest::TearDown();
  }
  template <class Function>
  static Function* driver(const char* name) {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult status = {};
    EXPECT_CUDA(cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &status));
    EXPECT_EQ(status, cudaDriverEntryPointSuccess);
    return reinterpret_cast<Function*>(found);
  }

  static constexpr std::size_t size = 1000;
  cudaStream_t stream_ = nullptr;
  std::byte* data_ = nullptr;
};

TEST_F(CopyTest, RoundTripsThroughPageableMemory) {
  std::vector<std::byte> host(size);
  for (std::size_t i = 0; i < size; ++i) host[i] = std::byte(i);
  ASSERT_CUDA(cudaMemcpyAsync(data_, host.data(), size, cudaMemcpyHostToDevice, stream_));
  std::vector<std::byte> back(size);
  ASSERT_CUDA(cudaMemcpyAsync(back.data(), data_, size, cudaMemcpyDeviceToHost, stream_));
  EXPECT_EQ(back, host);  // it has waited
}

TEST_F(CopyTest, ReadsPageableMemoryBeforeItReturns) {
  std::vector<std::byte> host = all(size, 1);
  gate closed(stream_);
  ASSERT_CUDA(cudaMemcpyAsync(data_, host.data(), size, cudaMemcpyDefault, stream_));
  host = all(size, 2);
  EXPECT_EQ(cudaStreamQuery(stream_), cudaErrorNotReady);
  closed.open();
  ASSERT_CUDA(cudaStreamSynchronize(stream_));
  EXPECT_EQ(peek(data_, size), all(size, 1));
}

TEST_F(CopyTest, ReadsPinnedMemoryWhenTheStreamGetsThere) {
  void* pinned = nullptr;
  ASSERT_CUDA(cudaMallocHost(&pinned, size));
  auto* const host = static_cast<std::byte*>(pinned);
  std::fill(host, host + size, std::byte{1});
  gate closed(stream_);
  ASSERT_CUDA(cudaMemcpyAsync(data_, host, size, cudaMemcpyHostToDevice, stream_));
  std::fill(host, host + size, std::byte{2});
  closed.open();
  ASSERT_CUDA(cudaStreamSynchronize(stream_));
  EXPECT_EQ(peek(data_, size), all(size, 2));
  EXPECT_CUDA(cudaFreeHost(pinned));
}

TEST_F(CopyTest, WhatIsFreedWhileACopyReadsItIsAMisuse) {
  void* pinned = nullptr;
  ASSERT_CUDA(cudaMallocHost(&pinned, size));
  gate closed(stream_);
  ASSERT_CUDA(cudaMemcpyAsync(data_, pinned, size, cudaMemcpyHostToDevice, stream_));
  auto freed = std::async(std::launch::async, [&] { return cudaFreeHost(pinned); });
  while (fake_cudart_violations() == 0) std::this_thread::yield();
  closed.open();
  EXPECT_EQ(freed.get(), cudaSuccess);
  expect_misuse("cudaFreeHost");
}

TEST_F(CopyTest, TheKindHasToFit) {
  std::vector<std::byte> host(size);
  for (const auto& [to, from, kind] :
       {std::tuple<void*, const void*, cudaMemcpyKind>{data_, host.data(), cudaMemcpyDeviceToHost},
        {data_, host.data(), cudaMemcpyDeviceToDevice},
        {host.data(), data_, cudaMemcpyHostToDevice},
        {host.data(), data_, cudaMemcpyHostToHost}}) {
    EXPECT_EQ(cudaMemcpyAsync(to, from, size, kind, stream_), cudaErrorInvalidValue);
  }
  EXPECT_EQ(cudaMemcpyAsync(data_, host.data(), size, cudaMemcpyKind(7), stream_),
            cudaErrorInvalidMemcpyDirection);
  EXPECT_EQ(cudaMemcpyAsync(data_, nullptr, size, cudaMemcpyDefault, stream_),
            cudaErrorInvalidValue);
  EXPECT_CUDA(cudaMemcpyAsync(data_, nullptr, 0, cudaMemcpyDefault, stream_));
}

TEST_F(CopyTest, BetweenHostMemoriesIsSynchronous) {
  std::vector<std::byte> from = all(size, 5), to = all(size, 0);
  ASSERT_CUDA(cudaMemcpyAsync(to.data(), from.data(), size, cudaMemcpyHostToHost, stream_));
  EXPECT_EQ(to, from);
}

TEST_F(CopyTest, PlainCopiesAreSynchronous) {
  std::vector<std::byte> host = all(size, 5);
  ASSERT_CUDA(cudaMemcpy(data_, host.data(), size, cudaMemcpyHostToDevice));
  EXPECT_EQ(peek(data_, size), host);
  ASSERT_CUDA(cudaMemset(data_, 7, size));
  EXPECT_EQ(peek(data_, size), all(size, 7));
}

TEST_F(CopyTest, BetweenDevices) {
  ASSERT_CUDA(cudaSetDevice(1));
  std::byte* const other = new_memory(size);
  ASSERT_CUDA(cudaSetDevice(0));
  ASSERT_CUDA(cudaMemsetAsync(data_, 3, size, stream_));
  ASSERT_CUDA(cudaMemcpyPeerAsync(other, 1, data_, 0, size, stream_));
  ASSERT_CUDA(cudaStreamSynchronize(stream_));
  EXPECT_EQ(peek(other, size), all(size, 3));
  EXPECT_EQ(cudaMemcpyPeerAsync(other, 0, data_, 0, size, stream_), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpyPeerAsync(other, 1, data_, 1, size, stream_), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpyPeerAsync(other, 2, data_, 0, size, stream_), cudaErrorInvalidDevice);
  // A fill is work of the stream's device alone, and goes through the current context.
  EXPECT_EQ(cudaMemsetAsync(other, 1, size, stream_), cudaErrorInvalidValue);
  ASSERT_CUDA(cudaSetDevice(1));
  EXPECT_EQ(cudaMemsetAsync(data_, 1, size, stream_), cudaErrorInvalidResourceHandle);
  EXPECT_CUDA(cudaMemcpyAsync(data_, other, size, cudaMemcpyDefault, stream_));
  ASSERT_CUDA(cudaStreamSynchronize(stream_));
  EXPECT_CUDA(cudaFree(other));
}

TEST_F(CopyTest, FillsOfEverySize) {
  const auto d16 =
      driver<CUresult(CUdeviceptr, unsigned short, size_t, CUstream)>("cuMemsetD16Async");
  const auto d32 = driver<CUresult(CUdeviceptr, unsigned, size_t, CUstream)>("cuMemsetD32Async");
  const auto d2d32 = driver<CUresult(CUdeviceptr, size_t, unsigned, size_t, size_t, CUstream)>(
      "cuMemsetD2D32Async");
  const auto at = reinterpret_cast<CUdeviceptr>(data_);
  ASSERT_CUDA(cudaMemsetAsync(data_, 0x11, size, stream_));
  EXPECT_EQ(d16(at + 2, 0x2233, 1, stream_), CUDA_SUCCESS);
  EXPECT_EQ(d32(at + 4, 0x44556677, 1, stream_), CUDA_SUCCESS);
  EXPECT_EQ(d2d32(at + 8, 8, 0x8899aabb, 1, 2, stream_), CUDA_SUCCESS);
  ASSERT_CUDA(cudaMemset2DAsync(data_ + 30, 4, 0xee, 2, 2, stream_));
  ASSERT_CUDA(cudaStreamSynchronize(stream_));
  const unsigned char expected[] = {0x11, 0x11, 0x33, 0x22, 0x77, 0x66, 0x55, 0x44, 0xbb, 0xaa,
                                    0x99, 0x88, 0x11, 0x11, 0x11, 0x11, 0xbb, 0xaa, 0x99, 0x88,
                                    0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11,
                                    0xee, 0xee, 0x11, 0x11, 0xee, 0xee, 0x11};
  const auto found = peek(data_, sizeof(expected));
  EXPECT_EQ(std::memcmp(found.data(), expected, sizeof(expected)), 0);
  EXPECT_EQ(d16(at + 1, 1, 1, stream_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(d32(at + 2, 1, 1, stream_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(d2d32(at, 6, 1, 1, 2, stream_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(d2d32(at, 8, 1, 3, 2, stream_), CUDA_ERROR_INVALID_VALUE);
  std::vector<std::byte> pageable(8);
  EXPECT_EQ(cudaMemsetAsync(pageable.data(), 1, 8, stream_), cudaErrorInvalidValue);
}

TEST_F(CopyTest, TheRangeOfAnAllocationIsKnown) {
  const auto range = driver<CUresult(CUdeviceptr*, size_t*, CUdeviceptr)>("cuMemGetAddressRange");
  CUdeviceptr begin = 0;
  size_t found = 0;
  const auto at = reinterpret_cast<CUdeviceptr>(data_);
  EXPECT_EQ(range(&begin, &found, at + 999), CUDA_SUCCESS);
  EXPECT_EQ(begin, at);
  EXPECT_EQ(found, size);
  EXPECT_EQ(range(&begin, &found, at + 1000), CUDA_ERROR_NOT_FOUND);
}

}  // namespace
}  // namespace fake_cuda
