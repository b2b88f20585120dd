// Memory: how much one allocation may have, what a process may have, and what is refused.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <level_zero/ze_api.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "tests/runtime/level_zero/own_process.hpp"

namespace outback::test_level_zero {
namespace {

using testing::HasSubstr;

constexpr std::size_t mebibyte = std::size_t{1} << 20;

// maxMemAllocSize of the driver is half the memory.
TEST(MemoryTest, AllocationsAboveThePlainLimit) {
  OUTBACK_IN_ITS_OWN_PROCESS(({{"OUTBACK_ZE_MEMORY", "64M"}}), {
    const outback_runtime& t = table();
    EXPECT_EQ(info_of(0).memory_size, 64 * mebibyte);
    EXPECT_EQ(info_of(0).max_alloc_size, 64 * mebibyte);
    void* ptr = nullptr;
    EXPECT_EQ(t.mem_alloc(t.self, 0, 48 * mebibyte, &ptr), OUTBACK_OK) << last_error();
    std::vector<unsigned char> back(4);
    const unsigned char pattern = 9;
    must(t.mem_fill(t.self, 0, ptr, 48 * mebibyte, &pattern, 1, nullptr));
    const auto* end = static_cast<const char*>(ptr) + 48 * mebibyte;
    must(t.mem_copy(t.self, back.data(), OUTBACK_HOST, end - 4, 0, 4, nullptr));
    EXPECT_EQ(back, std::vector<unsigned char>(4, 9));
    must(t.mem_free(t.self, 0, ptr));
  });
}

TEST(MemoryTest, ExhaustionSaysWhatIsLeft) {
  OUTBACK_IN_ITS_OWN_PROCESS(({{"OUTBACK_ZE_MEMORY", "64M"}}), {
    const outback_runtime& t = table();
    void *first = nullptr, *second = nullptr;
    must(t.mem_alloc(t.self, 0, 48 * mebibyte, &first));
    EXPECT_EQ(t.mem_alloc(t.self, 0, 32 * mebibyte, &second), OUTBACK_OUT_OF_MEMORY);
    EXPECT_THAT(last_error(),
                HasSubstr("device 0 was asked for 33554432 bytes, and this process has "
                          "16777216 free of 67108864"));
    must(t.mem_alloc(t.self, 1, 32 * mebibyte, &second));  // another device's
    must(t.mem_free(t.self, 0, first));
    must(t.mem_alloc(t.self, 0, 32 * mebibyte, &first));
  });
}

TEST(MemoryTest, WhatWasNotAllocatedIsNotFreed) {
  OUTBACK_IN_ITS_OWN_PROCESS(({}), {
    const outback_runtime& t = table();
    void *ptr = nullptr, *pinned = nullptr;
    must(t.mem_alloc(t.self, 0, 4096, &ptr));
    must(t.host_memory->alloc(t.self, 4096, &pinned));
    const uint64_t before = calls("zeMemFree");
    EXPECT_EQ(t.mem_free(t.self, 1, ptr), OUTBACK_INVALID_ARGUMENT);
    EXPECT_EQ(t.mem_free(t.self, 0, static_cast<char*>(ptr) + 64), OUTBACK_INVALID_ARGUMENT);
    EXPECT_EQ(t.mem_free(t.self, 0, pinned), OUTBACK_INVALID_ARGUMENT);
    EXPECT_EQ(t.host_memory->free(t.self, ptr), OUTBACK_INVALID_ARGUMENT);
    EXPECT_EQ(calls("zeMemFree"), before);
    must(t.mem_free(t.self, 0, ptr));
    EXPECT_EQ(t.mem_free(t.self, 0, ptr), OUTBACK_INVALID_ARGUMENT);
    EXPECT_THAT(last_error(), HasSubstr("freed already"));
    must(t.host_memory->free(t.self, pinned));
    EXPECT_EQ(t.host_memory->free(t.self, pinned), OUTBACK_INVALID_ARGUMENT);
  });
}

TEST(MemoryTest, UsageIsSysmansOrOnesOwn) {
  for (const char* sysman : {"0", "1"}) {
    OUTBACK_IN_ITS_OWN_PROCESS(({{"OUTBACK_ZE_MEMORY", "64M"}, {"ZES_ENABLE_SYSMAN", sysman}}), {
      const outback_runtime& t = table();
      void* ptr = nullptr;
      std::size_t free = 0, total = 0;
      must(t.mem_alloc(t.self, 0, 16 * mebibyte, &ptr));
      must(t.device_state->memory_usage(t.self, 0, &free, &total));
      EXPECT_EQ(total, 64 * mebibyte);
      EXPECT_EQ(free, 48 * mebibyte);
      EXPECT_EQ(calls("zesMemoryGetState") != 0, std::string(sysman) == "1");
    });
  }
}

// All that is there, and what comes later.
TEST(MemoryTest, PeersGetMemoryMadeResident) {
  OUTBACK_IN_ITS_OWN_PROCESS(({}), {
    const outback_runtime& t = table();
    void *before = nullptr, *later = nullptr;
    must(t.mem_alloc(t.self, 1, 4096, &before));
    must(t.peer->enable(t.self, 0, 1));
    EXPECT_EQ(calls("zeContextMakeMemoryResident"), 1u);
    must(t.peer->enable(t.self, 0, 1));
    EXPECT_EQ(calls("zeContextMakeMemoryResident"), 1u);
    must(t.mem_alloc(t.self, 1, 4096, &later));
    EXPECT_EQ(calls("zeContextMakeMemoryResident"), 2u);
    must(t.mem_free(t.self, 1, before));
    must(t.peer->disable(t.self, 0, 1));
    EXPECT_EQ(calls("zeContextEvictMemory"), 1u);
    must(t.mem_alloc(t.self, 1, 4096, &before));
    EXPECT_EQ(calls("zeContextMakeMemoryResident"), 2u);
  });
}

TEST(MemoryTest, AccessOfAPeerIsEnabledForAllMemoryOrForNone) {
  OUTBACK_IN_ITS_OWN_PROCESS(({}), {
    const outback_runtime& t = table();
    void *first = nullptr, *second = nullptr;
    must(t.mem_alloc(t.self, 1, 4096, &first));
    must(t.mem_alloc(t.self, 1, 4096, &second));
    const auto resident = [] {
      return calls("zeContextMakeMemoryResident") - calls("zeContextEvictMemory");
    };
    OUTBACK_ZE_CONTROL(outback_ze_fail)("zeContextMakeMemoryResident", 2, 0x7ffffffe);
    EXPECT_EQ(t.peer->enable(t.self, 0, 1), OUTBACK_INTERNAL);
    EXPECT_EQ(resident() - 1, 0u);  // one of the calls failed
    must(t.peer->enable(t.self, 0, 1));
    EXPECT_EQ(resident() - 1, 2u);
    OUTBACK_ZE_CONTROL(outback_ze_fail)("zeContextEvictMemory", 2, 0x7ffffffe);
    EXPECT_EQ(t.peer->disable(t.self, 0, 1), OUTBACK_INTERNAL);
    EXPECT_EQ(resident() - 1 + 1, 2u);
    must(t.peer->disable(t.self, 0, 1));
    EXPECT_EQ(resident() - 1 + 1, 0u);
  });
}

// A tile's memory, where cards are listed: the runtime has no number for such a device.
TEST(MemoryTest, MemoryOfADeviceThatIsNotListedIsNotPinned) {
  OUTBACK_IN_ITS_OWN_PROCESS(
      ({{"OUTBACK_ZE_TILES", "2"}, {"ZE_FLAT_DEVICE_HIERARCHY", "COMPOSITE"}}), {
        const outback_runtime& t = table();
        void *card = nullptr, *context = nullptr, *memory = nullptr;
        must(t.native->device(t.self, 0, &card));
        must(t.native->context(t.self, 0, &context));
        ze_device_handle_t tile = nullptr;
        uint32_t count = 1;
        void* const loader = dlopen("libze_loader.so.1", RTLD_NOW);
        const auto sub_devices = reinterpret_cast<decltype(&zeDeviceGetSubDevices)>(
            dlsym(loader, "zeDeviceGetSubDevices"));
        const auto allocate =
            reinterpret_cast<decltype(&zeMemAllocDevice)>(dlsym(loader, "zeMemAllocDevice"));
        EXPECT_EQ(sub_devices(static_cast<ze_device_handle_t>(card), &count, &tile), 0);
        ze_device_mem_alloc_desc_t desc = {};
        desc.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC;
        EXPECT_EQ(
            allocate(static_cast<ze_context_handle_t>(context), &desc, 4096, 64, tile, &memory), 0);
        outback_pointer_info info = {};
        info.struct_size = sizeof(info);
        must(t.host_memory->info(t.self, memory, &info));
        EXPECT_EQ(info.device, OUTBACK_HOST);
        EXPECT_EQ(info.pinned, 0);
        EXPECT_EQ(info.base, nullptr);
      });
}

TEST(MemoryTest, DevicesThatAreNoPeersAreToldSo) {
  OUTBACK_IN_ITS_OWN_PROCESS(({{"OUTBACK_ZE_PEER", "0"}}), {
    int32_t can = -1;
    must(table().peer->can_access(table().self, 0, 1, &can));
    EXPECT_EQ(can, 0);
    EXPECT_EQ(table().peer->enable(table().self, 0, 1), OUTBACK_UNSUPPORTED);
    EXPECT_THAT(last_error(), HasSubstr("device 0 cannot access memory of device 1"));
  });
}

// What is staged stays until the device has read it, so the seventeenth copy waits.
TEST(MemoryTest, MoreSmallCopiesThanMayBeStagedAreAllRight) {
  OUTBACK_IN_ITS_OWN_PROCESS(({}), {
    const outback_runtime& t = table();
    constexpr unsigned char count = 20;
    void* ptr = nullptr;
    std::vector<unsigned char> back(count);
    must(t.mem_alloc(t.self, 0, count, &ptr));
    must(t.device_sync(t.self, 0));
    OUTBACK_ZE_CONTROL(outback_ze_pause)();
    std::thread copies([&] {
      for (unsigned char i = 0; i < count; ++i) {
        auto* const to = static_cast<unsigned char*>(ptr) + i;
        EXPECT_EQ(t.mem_copy(t.self, to, 0, &i, OUTBACK_HOST, 1, nullptr), OUTBACK_OK);
      }
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    OUTBACK_ZE_CONTROL(outback_ze_resume)();
    copies.join();
    must(t.mem_copy(t.self, back.data(), OUTBACK_HOST, ptr, 0, count, nullptr));
    for (unsigned char i = 0; i < count; ++i) EXPECT_EQ(back[i], i);
    must(t.mem_free(t.self, 0, ptr));
  });
}

struct fill_calls {
  uint64_t fills = calls("zeCommandListAppendMemoryFill");
  uint64_t copies = calls("zeCommandListAppendMemoryCopy");
};

// Fills memory that was marked, and looks at every byte of it.
fill_calls calls_of_fill(std::size_t at, std::size_t size, const std::string& pattern) {
  const outback_runtime& t = table();
  constexpr std::size_t room = 20000;
  static void* const memory = [&] {
    void* made = nullptr;
    must(t.mem_alloc(t.self, 0, room, &made));
    return made;
  }();
  const unsigned char untouched = 0xee;
  must(t.mem_fill(t.self, 0, memory, room, &untouched, 1, nullptr));
  const fill_calls before;
  must(t.mem_fill(t.self, 0, static_cast<char*>(memory) + at, size, pattern.data(), pattern.size(),
                  nullptr));
  const fill_calls after;
  std::vector<unsigned char> expected(room, untouched), found(room);
  for (std::size_t i = 0; i < size; ++i) {
    expected[at + i] = static_cast<unsigned char>(pattern[i % pattern.size()]);
  }
  must(t.mem_copy(t.self, found.data(), OUTBACK_HOST, memory, 0, room, nullptr));
  EXPECT_TRUE(found == expected) << size << " bytes at " << at << " by " << pattern;
  return {after.fills - before.fills, after.copies - before.copies};
}

TEST(MemoryTest, FillsAreTheDriversWhereItHasThePattern) {
  OUTBACK_IN_ITS_OWN_PROCESS(({{"OUTBACK_ZE_FILL_PATTERN", "4"}}), {
    for (const char* pattern : {"a", "ab", "abcd", "abcdabcd", "aaaaaaaa"}) {
      const fill_calls made = calls_of_fill(3, 800, pattern);
      EXPECT_EQ(made.fills, 1u) << pattern;
      EXPECT_EQ(made.copies, 0u) << pattern;
    }
  });
}

// A piece of fills as long as the driver has them, and copies that double it.
TEST(MemoryTest, FillsWithLongerPatternsDouble) {
  for (const char* longest : {"1", "3", "4"}) {
    for (const char* in_order : {"0", "1"}) {
      OUTBACK_IN_ITS_OWN_PROCESS(
          ({{"OUTBACK_ZE_FILL_PATTERN", longest}, {"OUTBACK_ZE_IN_ORDER", in_order}}), {
            const uint64_t word = longest[0] == '3' ? 2 : uint64_t(longest[0] - '0');
            for (const std::size_t pieces : {1, 2, 5, 1000, 1024, 2000}) {
              const fill_calls made = calls_of_fill(5, pieces * 8, "12345678");
              EXPECT_EQ(made.fills, 8 / word) << pieces;
              EXPECT_EQ(made.copies, uint64_t(std::bit_width(pieces - 1))) << pieces;
            }
          });
    }
  }
}

// Nothing that enqueues waits for the device, but copies of pageable memory: here as many of those
// are on their way as may be.
TEST(MemoryTest, AFillDoesNotWaitForABusyDevice) {
  OUTBACK_IN_ITS_OWN_PROCESS(({{"OUTBACK_ZE_FILL_PATTERN", "1"}}), {
    const outback_runtime& t = table();
    void* ptr = nullptr;
    std::vector<unsigned char> back(64);
    must(t.mem_alloc(t.self, 0, 4096, &ptr));
    must(t.device_sync(t.self, 0));
    alarm(60);  // instead of a hang
    OUTBACK_ZE_CONTROL(outback_ze_pause)();
    for (unsigned char i = 0; i < 16; ++i) {
      must(t.mem_copy(t.self, static_cast<char*>(ptr) + 100 + i, 0, &i, OUTBACK_HOST, 1, nullptr));
    }
    must(t.mem_fill(t.self, 0, ptr, 64, "12345678", 8, nullptr));
    EXPECT_EQ(t.streams->query(t.self, 0, nullptr), OUTBACK_NOT_READY);
    OUTBACK_ZE_CONTROL(outback_ze_resume)();
    must(t.mem_copy(t.self, back.data(), OUTBACK_HOST, ptr, 0, 64, nullptr));
    for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(back[i], '1' + i % 8);
    alarm(0);
  });
}

// Whoever made a file could shrink it, and reading a page that is gone ends the process.
TEST(MemoryTest, AnEventInAFileThatMayShrinkIsRefused) {
  OUTBACK_IN_ITS_OWN_PROCESS(({}), {
    const outback_runtime& t = table();
    outback_event e = nullptr;
    outback_event opened = nullptr;
    must(t.events->create(t.self, 0, OUTBACK_EVENT_INTERPROCESS, &e));
    outback_ipc_handle handle = {};
    handle.struct_size = sizeof(handle);
    must(t.ipc->get_event(t.self, 0, e, &handle));
    must(t.ipc->open_event(t.self, 0, &handle, &opened));
    must(t.events->destroy(t.self, 0, opened));
    const int unsealed = memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    EXPECT_EQ(ftruncate(unsealed, lseek(handle.fd, 0, SEEK_END)), 0);
    handle.fd = unsealed;
    EXPECT_EQ(t.ipc->open_event(t.self, 0, &handle, &opened), OUTBACK_INVALID_ARGUMENT);
    EXPECT_EQ(fcntl(unsealed, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SEAL), 0);
    EXPECT_EQ(t.ipc->open_event(t.self, 0, &handle, &opened), OUTBACK_INVALID_ARGUMENT);
    close(unsealed);
    must(t.events->destroy(t.self, 0, e));
  });
}

TEST(MemoryTest, AHandleThatCannotBeOpenedCannotBeOpenedTheNextTimeEither) {
  OUTBACK_IN_ITS_OWN_PROCESS(({}), {
    const outback_runtime& t = table();
    void *ptr = nullptr, *opened = nullptr;
    outback_ipc_handle handle = {};
    handle.struct_size = sizeof(handle);
    must(t.mem_alloc(t.self, 0, 4096, &ptr));
    must(t.ipc->get_memory(t.self, 0, ptr, &handle));
    constexpr std::size_t process = 8;  // behind the kind: now it is another process's
    handle.bytes[process] ^= 1;
    OUTBACK_ZE_CONTROL(outback_ze_fail)("zeMemOpenIpcHandle", 0, 0x7ffffffe);
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(t.ipc->open_memory(t.self, 0, &handle, &opened), OUTBACK_INTERNAL) << i;
      EXPECT_THAT(last_error(), HasSubstr("zeMemOpenIpcHandle"));
    }
    close(handle.fd);
    must(t.mem_free(t.self, 0, ptr));
  });
}

// Sixteen copies may be staged; the seventeenth waits, and none reads the source late.
TEST(MemoryTest, SmallCopiesDoNotWaitForABusyDevice) {
  for (const char* how : {"0", "1"}) {
    OUTBACK_IN_ITS_OWN_PROCESS(({{"OUTBACK_ZE_IN_ORDER", how}}), {
      const outback_runtime& t = table();
      void* ptr = nullptr;
      std::vector<unsigned char> source(16), back(16);
      must(t.mem_alloc(t.self, 0, 16, &ptr));
      must(t.device_sync(t.self, 0));
      OUTBACK_ZE_CONTROL(outback_ze_pause)();
      for (unsigned char i = 0; i < 16; ++i) {
        source[i] = i;
        must(t.mem_copy(t.self, static_cast<char*>(ptr) + i, 0, &source[i], OUTBACK_HOST, 1,
                        nullptr));
        source[i] = 99;
      }
      EXPECT_EQ(t.streams->query(t.self, 0, nullptr), OUTBACK_NOT_READY);
      OUTBACK_ZE_CONTROL(outback_ze_resume)();
      must(t.mem_copy(t.self, back.data(), OUTBACK_HOST, ptr, 0, 16, nullptr));
      for (unsigned char i = 0; i < 16; ++i) EXPECT_EQ(back[i], i);
    });
  }
}

}  // namespace
}  // namespace outback::test_level_zero
