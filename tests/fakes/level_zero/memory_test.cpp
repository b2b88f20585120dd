// Memory: what is given, what is known of it, its limits, and what may not be done with it.
#include <cstring>

#include "tests/fakes/level_zero/client.hpp"

namespace outback::software_ze {
namespace {

class MemoryTest : public testing::driver_test {
 protected:
  ze_result_t allocate(std::size_t size, const void* next = nullptr, std::size_t alignment = 64) {
    const ze_device_mem_alloc_desc_t desc{ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, next, 0, 0};
    return ZE(zeMemAllocDevice)(context, &desc, size, alignment, devices[0], &last);
  }
  void* last = nullptr;
};

TEST_F(MemoryTest, ACopyThereAndBackIsTheSame) {
  auto* on_device = device_memory(1 << 20);
  auto* there = host_memory(1 << 20);
  std::vector<std::byte> back(1 << 20);
  for (std::size_t i = 0; i < back.size(); ++i) there[i] = static_cast<std::byte>(i * 7 + i / 999);
  const auto list = immediate_list();
  EXPECT_SUCCESS(
      ZE(zeCommandListAppendMemoryCopy)(list, on_device, there, 1 << 20, nullptr, 0, nullptr));
  EXPECT_SUCCESS(ZE(zeCommandListAppendBarrier)(list, nullptr, 0, nullptr));
  EXPECT_SUCCESS(ZE(zeCommandListAppendMemoryCopy)(list, back.data() + 1, on_device + 1,
                                                   back.size() - 1, nullptr, 0, nullptr));
  wait_for(list);
  EXPECT_EQ(std::memcmp(back.data() + 1, there + 1, back.size() - 1), 0);
  EXPECT_SUCCESS(ZE(zeCommandListDestroy)(list));
  free_memory(on_device);
  free_memory(there);
}

TEST_F(MemoryTest, APointerTellsWhatItPointsTo) {
  auto* on_device = device_memory(100000, 1);
  auto* on_host = host_memory(5000);
  int outside = 0;
  ze_memory_allocation_properties_t properties{};
  properties.stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES;
  ze_device_handle_t owner = nullptr;
  EXPECT_SUCCESS(ZE(zeMemGetAllocProperties)(context, on_device + 99999, &properties, &owner));
  EXPECT_EQ(properties.type, ZE_MEMORY_TYPE_DEVICE);
  EXPECT_EQ(owner, devices[1]);
  EXPECT_SUCCESS(ZE(zeMemGetAllocProperties)(context, on_device + 100000, &properties, &owner));
  EXPECT_EQ(properties.type, ZE_MEMORY_TYPE_UNKNOWN) << "beyond its end";
  EXPECT_SUCCESS(ZE(zeMemGetAllocProperties)(context, on_host + 17, &properties, &owner));
  EXPECT_EQ(properties.type, ZE_MEMORY_TYPE_HOST);
  EXPECT_SUCCESS(ZE(zeMemGetAllocProperties)(context, &outside, &properties, &owner));
  EXPECT_EQ(properties.type, ZE_MEMORY_TYPE_UNKNOWN);
  EXPECT_EQ(owner, nullptr);
  void* base = nullptr;
  size_t size = 0;
  EXPECT_SUCCESS(ZE(zeMemGetAddressRange)(context, on_device + 5, &base, &size));
  EXPECT_EQ(base, on_device);
  EXPECT_EQ(size, 100000u);
  free_memory(on_device);
  free_memory(on_host);
  EXPECT_SUCCESS(ZE(zeMemGetAllocProperties)(context, on_device, &properties, &owner));
  EXPECT_EQ(properties.type, ZE_MEMORY_TYPE_UNKNOWN) << "freed";
}

TEST_F(MemoryTest, ManySmallAllocationsAreApart) {
  std::vector<std::byte*> all;
  for (int i = 0; i < 200; ++i) all.push_back(device_memory(1 + i * 37));
  std::sort(all.begin(), all.end());
  for (std::size_t i = 1; i < all.size(); ++i) EXPECT_GE(all[i] - all[i - 1], 65536);
  for (auto* one : all) free_memory(one);
  EXPECT_EQ(CONTROL(outback_ze_memory_used)(0), 0u);
}

// 256 MiB of memory, 128 MiB at once.
TEST_F(MemoryTest, TooMuchAtOnceIsAnUnsupportedSizeUnlessLimitsAreRelaxed) {
  EXPECT_EQ(allocate((128u << 20) + 1), ZE_RESULT_ERROR_UNSUPPORTED_SIZE);
  EXPECT_EQ(last, nullptr);
  const ze_relaxed_allocation_limits_exp_desc_t relaxed{
      ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXP_DESC, nullptr,
      ZE_RELAXED_ALLOCATION_LIMITS_EXP_FLAG_MAX_SIZE};
  ASSERT_SUCCESS(allocate(200u << 20, &relaxed));
  EXPECT_EQ(CONTROL(outback_ze_memory_used)(0), 200u << 20);
  EXPECT_EQ(CONTROL(outback_ze_memory_used)(1), 0u);
  void* const first = last;
  EXPECT_EQ(allocate(57u << 20), ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY);
  EXPECT_SUCCESS(allocate(56u << 20)) << "to the last byte";
  EXPECT_EQ(allocate(1, &relaxed), ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY);
  free_memory(first);
  free_memory(last);
  EXPECT_EQ(CONTROL(outback_ze_memory_used)(0), 0u);
}

TEST_F(MemoryTest, WrongRequestsAreRefused) {
  EXPECT_EQ(allocate(0), ZE_RESULT_ERROR_UNSUPPORTED_SIZE);
  EXPECT_EQ(allocate(64, nullptr, 3), ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT);
  EXPECT_EQ(allocate(UINT64_MAX / 2), ZE_RESULT_ERROR_UNSUPPORTED_SIZE);
  ASSERT_SUCCESS(allocate(1, nullptr, 1 << 20));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(last) % (1 << 20), 0u);
  free_memory(last);
}

TEST_F(MemoryTest, FreeingTwiceIsAViolation) {
  auto* memory = device_memory(100);
  free_memory(memory);
  EXPECT_EQ(ZE(zeMemFree)(context, memory), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  expect_violation("zeMemFree: no allocation begins at");
}

TEST_F(MemoryTest, FreeingTheMiddleIsAViolation) {
  auto* memory = device_memory(100);
  EXPECT_EQ(ZE(zeMemFree)(context, memory + 1), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  expect_violation("is inside an allocation");
  free_memory(memory);
}

TEST_F(MemoryTest, FreeingWhatACommandUsesIsAViolation) {
  auto* memory = device_memory(100);
  const auto list = immediate_list();
  CONTROL(outback_ze_pause)();
  const char zero = 0;
  EXPECT_SUCCESS(
      ZE(zeCommandListAppendMemoryFill)(list, memory, &zero, 1, 100, nullptr, 0, nullptr));
  free_memory(memory);
  expect_violation("is freed while 1 commands use it");
  EXPECT_GT(CONTROL(outback_ze_memory_used)(0), 0u) << "the command holds it";
  CONTROL(outback_ze_resume)();
  wait_for(list);
  EXPECT_EQ(CONTROL(outback_ze_memory_used)(0), 0u);
  EXPECT_SUCCESS(ZE(zeCommandListDestroy)(list));
}

TEST_F(MemoryTest, FreePoliciesWaitOrDefer) {
  auto* memory = device_memory(100);
  const auto list = immediate_list();
  const char zero = 0;
  CONTROL(outback_ze_pause)();
  EXPECT_SUCCESS(
      ZE(zeCommandListAppendMemoryFill)(list, memory, &zero, 1, 100, nullptr, 0, nullptr));
  ze_memory_free_ext_desc_t desc{ZE_STRUCTURE_TYPE_MEMORY_FREE_EXT_DESC, nullptr,
                                 ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_DEFER_FREE};
  EXPECT_SUCCESS(ZE(zeMemFreeExt)(context, &desc, memory));
  CONTROL(outback_ze_resume)();
  memory = device_memory(100);
  EXPECT_SUCCESS(
      ZE(zeCommandListAppendMemoryFill)(list, memory, &zero, 1, 100, nullptr, 0, nullptr));
  desc.freePolicy = ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_BLOCKING_FREE;
  EXPECT_SUCCESS(ZE(zeMemFreeExt)(context, &desc, memory));
  wait_for(list);
  EXPECT_EQ(CONTROL(outback_ze_memory_used)(0), 0u);
  EXPECT_SUCCESS(ZE(zeCommandListDestroy)(list));
}

TEST_F(MemoryTest, CommandsMustStayInsideAllocations) {
  auto* memory = device_memory(100);
  const auto list = immediate_list();
  const char zero = 0;
  EXPECT_EQ(ZE(zeCommandListAppendMemoryFill)(list, memory + 1, &zero, 1, 100, nullptr, 0, nullptr),
            ZE_RESULT_ERROR_INVALID_ARGUMENT);
  expect_violation("the allocation ends after 99");
  free_memory(memory);
  EXPECT_EQ(ZE(zeCommandListAppendMemoryFill)(list, memory, &zero, 1, 100, nullptr, 0, nullptr),
            ZE_RESULT_ERROR_INVALID_ARGUMENT);
  expect_violation("is no memory any more");
  EXPECT_SUCCESS(ZE(zeCommandListDestroy)(list));
}

TEST_F(MemoryTest, MemoryOfAnotherContextIsAViolation) {
  ze_context_handle_t other = nullptr;
  const ze_context_desc_t desc{ZE_STRUCTURE_TYPE_CONTEXT_DESC, nullptr, 0};
  ASSERT_SUCCESS(ZE(zeContextCreate)(driver, &desc, &other));
  auto* memory = device_memory(100);
  EXPECT_EQ(ZE(zeMemFree)(other, memory), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  expect_violation("is memory of another context");
  free_memory(memory);
  EXPECT_SUCCESS(ZE(zeContextDestroy)(other));
}

TEST_F(MemoryTest, FillsRepeatTheirPattern) {
  auto* memory = host_memory(1000);
  const auto list = immediate_list(0, ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
  uint64_t pattern = 0x0123456789abcdef;
  EXPECT_SUCCESS(
      ZE(zeCommandListAppendMemoryFill)(list, memory + 8, &pattern, 8, 80, nullptr, 0, nullptr));
  for (int i = 1; i <= 10; ++i) EXPECT_EQ(std::memcmp(memory + 8 * i, &pattern, 8), 0);
  EXPECT_EQ(memory[88], std::byte{0});
  EXPECT_EQ(ZE(zeCommandListAppendMemoryFill)(list, memory, &pattern, 3, 9, nullptr, 0, nullptr),
            ZE_RESULT_ERROR_INVALID_SIZE);
  char large[32] = {};
  EXPECT_EQ(ZE(zeCommandListAppendMemoryFill)(list, memory, large, 32, 64, nullptr, 0, nullptr),
            ZE_RESULT_ERROR_INVALID_SIZE);
  EXPECT_SUCCESS(ZE(zeCommandListDestroy)(list));
  free_memory(memory);
}

TEST_F(MemoryTest, RegionsAreCopiedRowByRow) {
  auto* memory = host_memory(4096);
  auto* other = host_memory(4096);
  for (int i = 0; i < 4096; ++i) memory[i] = static_cast<std::byte>(i % 251);
  const auto list = immediate_list(0, ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
  const ze_copy_region_t from{3, 2, 1, 10, 4, 2}, to{1, 1, 0, 10, 4, 2};
  EXPECT_SUCCESS(ZE(zeCommandListAppendMemoryCopyRegion)(list, other, &to, 32, 256, memory, &from,
                                                         64, 1024, nullptr, 0, nullptr));
  for (int z = 0; z < 2; ++z) {
    for (int y = 0; y < 4; ++y) {
      EXPECT_EQ(std::memcmp(other + z * 256 + (y + 1) * 32 + 1,
                            memory + (z + 1) * 1024 + (y + 2) * 64 + 3, 10),
                0);
    }
  }
  EXPECT_SUCCESS(ZE(zeCommandListDestroy)(list));
  free_memory(memory);
  free_memory(other);
}

}  // namespace
}  // namespace outback::software_ze
