// Pinned host memory, and what a runtime knows of a pointer.
#include <cstdint>
#include <cstring>
#include <memory>

#include "tests/runtime/suite/suite.hpp"

namespace outback::suite {
namespace {

class HostMemoryTest : public RuntimeTest {
 protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    if (!IsSkipped()) OUTBACK_NEEDS_GROUP(host_memory);
  }

  struct unpin {
    void operator()(std::byte* ptr) const {
      check(table().host_memory->free(table().self, ptr), "host_memory.free");
    }
  };
  using pinned_memory = std::unique_ptr<std::byte, unpin>;

  static pinned_memory pinned(std::size_t size) {
    void* ptr = nullptr;
    check(table().host_memory->alloc(table().self, size, &ptr), "host_memory.alloc");
    check_memory(ptr, size, "host_memory.alloc");
    check_reach(ptr, size, "host_memory.alloc");
    return pinned_memory(static_cast<std::byte*>(ptr));
  }

  static outback_pointer_info info(const void* ptr) {
    outback_pointer_info out = {};
    out.struct_size = sizeof(out);
    check(table().host_memory->info(table().self, ptr, &out), "host_memory.info");
    return out;
  }
};

TEST_F(HostMemoryTest, EverySizeIsAlignedAndTheCpus) {
  for (const std::size_t size : {std::size_t(1), std::size_t(65), std::size_t(4097), big()}) {
    const pinned_memory host = pinned(size);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(host.get()) % 64, 0u) << size << " bytes";
    std::memset(host.get(), 1, size);
  }
}

TEST_F(HostMemoryTest, ZeroBytesAreNull) {
  int marker = 0;
  void* ptr = &marker;
  EXPECT_OK(table().host_memory->alloc(table().self, 0, &ptr));
  EXPECT_EQ(ptr, nullptr);
  EXPECT_OK(table().host_memory->free(table().self, nullptr));
}

TEST_F(HostMemoryTest, CopiesGoBothWays) {
  for (const std::size_t size : {std::size_t(1), std::size_t(4097), big()}) {
    SCOPED_TRACE(size);
    const bytes content = noise(size, size);
    const pinned_memory from = pinned(size), to = pinned(size);
    memory data(size);
    std::memcpy(from.get(), content.data(), size);
    std::memset(to.get(), 0, size);
    check(table().mem_copy(table().self, data.at(), 0, from.get(), OUTBACK_HOST, size, nullptr),
          "mem_copy");
    check(table().mem_copy(table().self, to.get(), OUTBACK_HOST, data.at(), 0, size, nullptr),
          "mem_copy");
    check(table().device_sync(table().self, 0), "device_sync");
    EXPECT_TRUE(same(bytes(to.get(), to.get() + size), content));
  }
}

TEST_F(HostMemoryTest, CopiesKeepTheOrderOfTheirStream) {
  const pinned_memory host = pinned(big());
  busy_work busy;
  memory data(big());
  for (int round = 0; round < 3; ++round) {
    busy.fill(data, round, nullptr);
    check(table().mem_copy(table().self, host.get(), OUTBACK_HOST, data.at(), 0, big(), nullptr),
          "mem_copy");
    data.fill(100, nullptr);
    check(table().device_sync(table().self, 0), "device_sync");
    EXPECT_TRUE(same(bytes(host.get(), host.get() + big()), all(big(), round)));
  }
}

TEST_F(HostMemoryTest, EveryPointerIntoPinnedMemoryIsKnown) {
  constexpr std::size_t size = 1000;
  const pinned_memory host = pinned(size);
  for (const std::size_t offset : {std::size_t(0), std::size_t(1), size / 2, size - 1}) {
    SCOPED_TRACE(offset);
    const outback_pointer_info known = info(host.get() + offset);
    EXPECT_EQ(known.device, OUTBACK_HOST);
    EXPECT_EQ(known.pinned, 1);
    if (known.base != nullptr) {
      EXPECT_EQ(known.base, host.get());
      EXPECT_GE(known.size, size);
    } else {
      EXPECT_EQ(known.size, 0u);
    }
  }
}

TEST_F(HostMemoryTest, PinnedMemoryIsForgottenWhenFreed) {
  // Of a size that malloc gives back to the system, so that nobody else's pinned memory takes the
  // place.
  pinned_memory host = pinned(big());
  const void* was = host.get();
  host.reset();
  EXPECT_EQ(info(was).pinned, 0);
}

TEST_F(HostMemoryTest, OtherHostMemoryIsPageable) {
  const int on_the_stack = 0;
  const auto on_the_heap = std::make_unique<std::byte[]>(100);
  static int in_the_program = 0;
  for (const void* ptr :
       {static_cast<const void*>(&on_the_stack), static_cast<const void*>(on_the_heap.get()),
        static_cast<const void*>(&in_the_program), static_cast<const void*>(nullptr)}) {
    const outback_pointer_info known = info(ptr);
    EXPECT_EQ(known.device, OUTBACK_HOST);
    EXPECT_EQ(known.pinned, 0);
  }
}

TEST_F(HostMemoryTest, DeviceMemoryIsTheDevices) {
  for (int32_t d = 0; d < device_count(); ++d) {
    memory data(1000, d);
    for (const std::size_t offset : {0, 1, 999}) {
      EXPECT_EQ(info(data.at(offset)).device, d) << offset;
      EXPECT_EQ(info(data.at(offset)).pinned, 0) << offset;
    }
  }
}

TEST_F(HostMemoryTest, InfoWritesNoFurtherThanTheCallersStruct) {
  const pinned_memory host = pinned(100);
  outback_pointer_info small;
  std::memset(&small, 0xee, sizeof(small));
  small.struct_size = offsetof(outback_pointer_info, base);
  EXPECT_OK(table().host_memory->info(table().self, host.get(), &small));
  EXPECT_EQ(small.pinned, 1);
  const auto* raw = reinterpret_cast<const unsigned char*>(&small);
  for (std::size_t i = small.struct_size; i < sizeof(small); ++i)
    EXPECT_EQ(raw[i], 0xee) << "byte " << i;
}

}  // namespace
}  // namespace outback::suite
