// Memory: what is allocated, registered and known about pointers.
#include <algorithm>
#include <cstdlib>

#include "tests/fakes/cudart/fake_test.hpp"

namespace fake_cuda {
namespace {

using MemoryTest = FakeTest;

cudaPointerAttributes attributes_of(const void* ptr) {
  cudaPointerAttributes found = {};
  EXPECT_CUDA(cudaPointerGetAttributes(&found, ptr));
  return found;
}

TEST_F(MemoryTest, IsAlignedAndCounted) {
  const long long before = fake_cudart_memory_used(0);
  std::byte* const first = new_memory(1);
  std::byte* const second = new_memory(513);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % 512, 0u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(second) % 512, 0u);
  EXPECT_EQ(fake_cudart_memory_used(0), before + 512 + 1024);
  size_t free = 0, total = 0;
  EXPECT_CUDA(cudaMemGetInfo(&free, &total));
  EXPECT_EQ(total - free, std::size_t(fake_cudart_memory_used(0)));
  EXPECT_CUDA(cudaFree(first));
  EXPECT_CUDA(cudaFree(second));
  EXPECT_EQ(fake_cudart_memory_used(0), before);
}

TEST_F(MemoryTest, RunsOutExactly) {
  size_t free = 0, total = 0;
  ASSERT_CUDA(cudaMemGetInfo(&free, &total));
  std::byte* const most = new_memory(free);
  void* more = &free;
  EXPECT_EQ(cudaMalloc(&more, 1), cudaErrorMemoryAllocation);
  EXPECT_EQ(more, &free);
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_CUDA(cudaFree(most));
  std::byte* const again = new_memory(free);
  EXPECT_CUDA(cudaFree(again));
  EXPECT_EQ(cudaMalloc(&more, ~std::size_t{0}), cudaErrorMemoryAllocation);
}

TEST_F(MemoryTest, NothingIsANullPointer) {
  void* none = &none;
  EXPECT_CUDA(cudaMalloc(&none, 0));
  EXPECT_EQ(none, nullptr);
  EXPECT_CUDA(cudaFree(nullptr));
  EXPECT_CUDA(cudaFreeHost(nullptr));
}

TEST_F(MemoryTest, ManyComeAndGo) {
  std::vector<std::byte*> kept;
  for (int round = 0; round < 3000; ++round) {
    kept.push_back(new_memory(std::size_t(1 + round * 37 % 100000)));
    if (kept.size() > 50) {
      EXPECT_CUDA(cudaFree(kept[std::size_t(round) % kept.size()]));
      kept.erase(kept.begin() + std::ptrdiff_t(std::size_t(round) % kept.size()));
    }
  }
  std::vector<std::byte*> sorted = kept;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(std::adjacent_find(sorted.begin(), sorted.end()), sorted.end());
  for (std::byte* each : kept) EXPECT_CUDA(cudaFree(each));
}

TEST_F(MemoryTest, FreedTwiceIsAMisuse) {
  std::byte* const data = new_memory(100);
  EXPECT_CUDA(cudaFree(data));
  EXPECT_EQ(cudaFree(data), cudaErrorInvalidValue);
  expect_misuse("was freed before");
}

TEST_F(MemoryTest, FreedFromItsMidstIsAMisuse) {
  std::byte* const data = new_memory(100);
  EXPECT_EQ(cudaFree(data + 1), cudaErrorInvalidValue);
  expect_misuse("in the midst");
  EXPECT_EQ(cudaFreeHost(data), cudaErrorInvalidValue);
  expect_misuse("does not free");
  int on_stack = 0;
  EXPECT_EQ(cudaFree(&on_stack), cudaErrorInvalidValue);
  expect_misuse("nothing that this could free");
  EXPECT_CUDA(cudaFree(data));
}

TEST_F(MemoryTest, UsedAfterItsFreeIsAMisuse) {
  const cudaStream_t s = new_stream();
  std::byte* const data = new_memory(100);
  EXPECT_CUDA(cudaFree(data));
  EXPECT_EQ(cudaMemsetAsync(data + 10, 1, 5, s), cudaErrorInvalidValue);
  expect_misuse("was freed");
  EXPECT_CUDA(cudaStreamDestroy(s));
}

TEST_F(MemoryTest, WorkThatLeavesItIsAMisuse) {
  const cudaStream_t s = new_stream();
  std::byte* const data = new_memory(100);
  EXPECT_EQ(cudaMemsetAsync(data, 1, 101, s), cudaErrorInvalidValue);
  expect_misuse("leave the 100 bytes");
  EXPECT_EQ(cudaMemsetAsync(data + 100, 1, 1, s), cudaErrorInvalidValue);
  expect_misuse("in no allocation");
  std::byte host[200];
  EXPECT_EQ(cudaMemcpyAsync(host, data + 50, 51, cudaMemcpyDefault, s), cudaErrorInvalidValue);
  expect_misuse("leave the 100 bytes");
  EXPECT_CUDA(cudaFree(data));
  EXPECT_CUDA(cudaStreamDestroy(s));
}

TEST_F(MemoryTest, FreedWhileWorkUsesItIsAMisuse) {
  const cudaStream_t s = new_stream();
  std::byte* const data = new_memory(100);
  gate closed(s);
  EXPECT_CUDA(cudaMemsetAsync(data, 1, 100, s));
  auto freed = std::async(std::launch::async, [&] { return cudaFree(data); });
  while (fake_cudart_violations() == 0) std::this_thread::yield();
  closed.open();  // it waits for the work, so that nothing breaks
  EXPECT_EQ(freed.get(), cudaSuccess);
  expect_misuse("used by 1 pieces of enqueued work");
  EXPECT_CUDA(cudaStreamDestroy(s));
}

TEST_F(MemoryTest, EveryPointerIsKnown) {
  std::byte* const data = new_memory(100);
  for (const std::byte* each : {data, data + 50, data + 99}) {
    const auto found = attributes_of(each);
    EXPECT_EQ(found.type, cudaMemoryTypeDevice);
    EXPECT_EQ(found.device, 0);
    EXPECT_EQ(found.devicePointer, each);
    EXPECT_EQ(found.hostPointer, nullptr);
  }
  EXPECT_EQ(attributes_of(data + 100).type, cudaMemoryTypeUnregistered);
  EXPECT_CUDA(cudaFree(data));
  EXPECT_EQ(attributes_of(data).type, cudaMemoryTypeUnregistered);
  void* pinned = nullptr;
  ASSERT_CUDA(cudaHostAlloc(&pinned, 64, cudaHostAllocPortable));
  const auto found = attributes_of(static_cast<char*>(pinned) + 63);
  EXPECT_EQ(found.type, cudaMemoryTypeHost);
  EXPECT_EQ(found.hostPointer, static_cast<char*>(pinned) + 63);
  unsigned flags = 0;
  EXPECT_CUDA(cudaHostGetFlags(&flags, pinned));
  EXPECT_EQ(flags, unsigned(cudaHostAllocPortable));
  void* on_device = nullptr;
  EXPECT_CUDA(cudaHostGetDevicePointer(&on_device, pinned, 0));
  EXPECT_EQ(on_device, pinned);
  EXPECT_CUDA(cudaFreeHost(pinned));
  EXPECT_EQ(cudaHostGetFlags(&flags, &flags), cudaErrorInvalidValue);
}

TEST_F(MemoryTest, RegistrationsDoNotMeet) {
  std::vector<std::byte> host(10000);
  ASSERT_CUDA(cudaHostRegister(host.data() + 1000, 2000, cudaHostRegisterDefault));
  EXPECT_EQ(attributes_of(host.data() + 999).type, cudaMemoryTypeUnregistered);
  EXPECT_EQ(attributes_of(host.data() + 2999).type, cudaMemoryTypeHost);
  EXPECT_EQ(attributes_of(host.data() + 3000).type, cudaMemoryTypeUnregistered);
  for (const auto& [offset, size] : {std::pair{0, 1001}, {2999, 1}, {0, 10000}, {1500, 10}}) {
    EXPECT_EQ(cudaHostRegister(host.data() + offset, std::size_t(size), 0),
              cudaErrorHostMemoryAlreadyRegistered);
  }
  EXPECT_CUDA(cudaHostRegister(host.data() + 3000, 10, 0));
  EXPECT_EQ(cudaHostUnregister(host.data() + 1001), cudaErrorHostMemoryNotRegistered);
  expect_misuse("in the midst");
  EXPECT_CUDA(cudaHostUnregister(host.data() + 1000));
  EXPECT_CUDA(cudaHostUnregister(host.data() + 3000));
  EXPECT_EQ(cudaHostRegister(nullptr, 10, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaHostRegister(host.data(), 0, 0), cudaErrorInvalidValue);
}

TEST_F(MemoryTest, HalfPinnedIsRefused) {
  const cudaStream_t s = new_stream();
  std::byte* const data = new_memory(100);
  std::vector<std::byte> host(200);
  ASSERT_CUDA(cudaHostRegister(host.data() + 50, 100, 0));
  EXPECT_EQ(cudaMemcpyAsync(data, host.data(), 100, cudaMemcpyDefault, s), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpyAsync(data, host.data() + 100, 60, cudaMemcpyDefault, s),
            cudaErrorInvalidValue);
  expect_misuse("leave the 100 bytes");
  EXPECT_CUDA(cudaHostUnregister(host.data() + 50));
  EXPECT_CUDA(cudaFree(data));
  EXPECT_CUDA(cudaStreamDestroy(s));
}

}  // namespace
}  // namespace fake_cuda
