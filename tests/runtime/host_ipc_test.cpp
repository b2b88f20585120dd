// What the host runtime promises of shared memory and events beyond the contract: handles that are
// wrong, owners that are gone, forked children.
//
// Two runtimes in one process are what two processes are: neither knows the other's memory.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <future>
#include <new>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "backend_template/runtimes/host/host_runtime.hpp"
#include "tests/runtime/gate.hpp"

namespace {

// So many allocations of this thread succeed, and then one fails; -1: all succeed.
thread_local int allocations_left = -1;

}  // namespace

// With the address sanitizer, memory of the other forms of new does not come from here, and may be
// deleted here.
// NOLINTNEXTLINE(bugprone-reserved-identifier): the sanitizer's name
extern "C" [[gnu::visibility("default")]] const char* __asan_default_options() {
  return "alloc_dealloc_mismatch=0";
}

// Not inlined, or GCC warns of free() for memory of operator new.
[[gnu::noinline]] void* operator new(std::size_t size) {
  if (allocations_left == 0) throw std::bad_alloc();
  if (allocations_left > 0) --allocations_left;
  if (void* const made = std::malloc(size)) return made;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* ptr) noexcept {
  std::free(ptr);
}
[[gnu::noinline]] void operator delete(void* ptr, std::size_t) noexcept {
  std::free(ptr);
}

namespace outback::host {
namespace {

using testing::HasSubstr;

constexpr host_options small_device = {.devices = 2, .memory_size = 64 << 20};

// A handle that closes its descriptor.
struct ipc_handle : outback_ipc_handle {
  explicit ipc_handle(const outback_ipc_handle& given) : outback_ipc_handle(given) {}
  ~ipc_handle() { close_fd(); }
  ipc_handle(const ipc_handle&) = delete;
  ipc_handle& operator=(const ipc_handle&) = delete;
  void close_fd() {
    if (fd >= 0) close(fd);
    fd = -1;
  }
};

template <class Call>
std::string refusal(Call&& call) {
  try {
    call();
  } catch (const invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}

bool in_child(const std::function<bool()>& scenario) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    _exit(scenario() ? 0 : 1);
  }
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

class HostIpcTest : public testing::Test {
 protected:
  ~HostIpcTest() override { gate_.open(); }

  unsigned char* alloc(std::size_t size, int value) {
    auto* ptr = static_cast<unsigned char*>(owner_.mem_alloc(0, size));
    std::memset(ptr, value, size);
    return ptr;
  }
  // It does not go on by itself; a wrong one would be ready at once.
  template <class Future>
  static bool pending(const Future& future) {
    return future.wait_for(std::chrono::milliseconds(20)) == std::future_status::timeout;
  }
  static unsigned char* as_bytes(void* ptr) { return static_cast<unsigned char*>(ptr); }
  // Where this process has the handle's file mapped.
  static int mappings_of(const outback_ipc_handle& handle) {
    struct stat file = {};
    EXPECT_EQ(fstat(handle.fd, &file), 0);
    const std::string inode = " " + std::to_string(file.st_ino) + " ";
    std::ifstream maps("/proc/self/maps");
    int found = 0;
    for (std::string line; std::getline(maps, line);) {
      found += line.find(inode) != std::string::npos && line.find("memfd:outback") != line.npos;
    }
    return found;
  }

  host_runtime owner_{small_device}, other_{small_device};
  gate gate_;
};

TEST_F(HostIpcTest, SharedMemoryStaysWhereItIs) {
  for (const std::size_t size : {1, 64, 4095, 4096, 4097, 3 << 20}) {
    SCOPED_TRACE(size);
    unsigned char* data = alloc(size, 1);
    const ipc_handle handle(owner_.ipc_get_memory(0, data));
    auto* there = as_bytes(other_.ipc_open_memory(1, handle));
    EXPECT_NE(there, data);
    EXPECT_EQ(there[size - 1], 1);
    data[size - 1] = 2;
    EXPECT_EQ(there[size - 1], 2);
    there[0] = 3;
    EXPECT_EQ(data[0], 3);
    other_.ipc_close_memory(1, there);
    EXPECT_EQ(data[0], 3);
    owner_.mem_free(0, data);
  }
}

TEST_F(HostIpcTest, ASecondHandleIsOfTheSameMemory) {
  unsigned char* data = alloc(4096, 1);
  const ipc_handle first(owner_.ipc_get_memory(0, data)), second(owner_.ipc_get_memory(0, data));
  EXPECT_NE(first.fd, second.fd);
  void* there = other_.ipc_open_memory(0, first);
  EXPECT_EQ(other_.ipc_open_memory(0, second), there);
  other_.ipc_close_memory(0, there);
  EXPECT_EQ(*as_bytes(there), 1);  // once of two times
  other_.ipc_close_memory(0, there);
  EXPECT_NE(refusal([&] { other_.ipc_close_memory(0, there); }), "accepted");
}

TEST_F(HostIpcTest, WithoutADescriptorItIsTakenFromTheOwner) {
  unsigned char* data = alloc(100, 5);
  ipc_handle handle(owner_.ipc_get_memory(0, data));
  handle.close_fd();
  void* there = other_.ipc_open_memory(0, handle);
  EXPECT_EQ(*as_bytes(there), 5);
  other_.ipc_close_memory(0, there);
  owner_.mem_free(0, data);
  EXPECT_THAT(refusal([&] { other_.ipc_open_memory(0, handle); }), HasSubstr("freed"));
}

TEST_F(HostIpcTest, OpenedMemoryOutlivesItsOwner) {
  unsigned char* data = alloc(10'000, 6);
  const ipc_handle handle(owner_.ipc_get_memory(0, data));
  auto* there = as_bytes(other_.ipc_open_memory(0, handle));
  owner_.mem_free(0, data);
  EXPECT_EQ(there[9'999], 6);
  other_.ipc_close_memory(0, there);
}

// Whoever gets the place next must not write into the memory of others.
TEST_F(HostIpcTest, FreedPagesAreNotSharedAnyMore) {
  for (const std::size_t size : {100, 200'000, 8 << 20}) {
    SCOPED_TRACE(size);
    unsigned char* data = alloc(size, 1);
    const ipc_handle handle(owner_.ipc_get_memory(0, data));
    const auto* there = as_bytes(other_.ipc_open_memory(0, handle));
    owner_.mem_free(0, data);
    EXPECT_EQ(mappings_of(handle), 1) << "the opener's is left";
    unsigned char* next = alloc(size, 2);
    EXPECT_EQ(there[0], 1);
    EXPECT_EQ(there[size - 1], 1);
    owner_.mem_free(0, next);
    other_.ipc_close_memory(0, const_cast<unsigned char*>(there));
  }
}

TEST_F(HostIpcTest, OpenedMemoryIsTheDevicesButNotToBeFreed) {
  host_runtime apart(
      {.devices = 2, .memory_size = 1 << 20, .host_addressable = false, .addresses_host = false});
  const ipc_handle handle(owner_.ipc_get_memory(0, alloc(100, 4)));
  auto* there = as_bytes(apart.ipc_open_memory(1, handle));
  EXPECT_EQ(apart.host_info(there + 99).device, 1);
  EXPECT_EQ(apart.host_info(there + 99).base, there);
  EXPECT_EQ(apart.host_info(there + 99).size, 100u);
  EXPECT_EQ(apart.host_info(there + 100).device, OUTBACK_HOST);
  EXPECT_EQ(apart.memory_usage(1).free, std::size_t(1 << 20)) << "it is of the owner's budget";
  unsigned char got[100] = {};
  apart.mem_copy(got, OUTBACK_HOST, there, 1, 100, nullptr);
  EXPECT_EQ(got[99], 4);
  EXPECT_NE(refusal([&] { apart.mem_fill(1, there + 1, 100, "\0", 1, nullptr); }), "accepted");
  EXPECT_NE(refusal([&] { apart.mem_fill(0, there, 100, "\0", 1, nullptr); }), "accepted");
  EXPECT_THAT(refusal([&] { apart.mem_free(1, there); }), HasSubstr("close_memory"));
  EXPECT_NE(refusal([&] { apart.ipc_get_memory(1, there); }), "accepted");
  EXPECT_THAT(refusal([&] { apart.ipc_close_memory(0, there); }), HasSubstr("for device 1"));
  EXPECT_NE(refusal([&] { apart.ipc_close_memory(1, there + 1); }), "accepted");
  apart.ipc_close_memory(1, there);
  EXPECT_EQ(apart.host_info(there).device, OUTBACK_HOST);
}

TEST_F(HostIpcTest, ProtectedMemoryIsShared) {
  host_runtime guarded({.devices = 1,
                        .memory_size = 1 << 20,
                        .host_addressable = false,
                        .addresses_host = false,
                        .protected_memory = true});
  void* own = guarded.mem_alloc(0, 5000);
  guarded.mem_fill(0, own, 5000, "\3", 1, nullptr);
  const ipc_handle handle(guarded.ipc_get_memory(0, own));
  auto* there = as_bytes(other_.ipc_open_memory(0, handle));
  EXPECT_EQ(there[4999], 3);
  guarded.mem_fill(0, own, 5000, "\4", 1, nullptr);
  EXPECT_EQ(there[4999], 4);
  const ipc_handle back(owner_.ipc_get_memory(0, alloc(5000, 7)));
  void* opened = guarded.ipc_open_memory(0, back);
  unsigned char got[5000] = {};
  guarded.mem_copy(got, OUTBACK_HOST, opened, 0, 5000, nullptr);
  EXPECT_EQ(got[4999], 7);
  guarded.ipc_close_memory(0, opened);
  other_.ipc_close_memory(0, there);
}

TEST_F(HostIpcTest, OnlyWholeAllocationsOfTheDeviceAreShared) {
  unsigned char* data = alloc(8192, 0);
  void* pinned = owner_.host_alloc(8192);
  for (void* wrong : {static_cast<void*>(data + 4096), pinned, static_cast<void*>(&data)}) {
    EXPECT_THAT(refusal([&] { owner_.ipc_get_memory(0, wrong); }), HasSubstr("mem_alloc"));
  }
  EXPECT_THAT(refusal([&] { owner_.ipc_get_memory(1, data); }), HasSubstr("device 1"));
  EXPECT_NE(refusal([&] { owner_.ipc_close_memory(0, data); }), "accepted");
  owner_.host_free(pinned);
}

// It moves no byte, so there is nothing that a write could miss.
TEST_F(HostIpcTest, SharingWaitsForNothing) {
  unsigned char* data = alloc(4096, 1);
  const outback_stream s = owner_.stream_create(0, 0);
  gate_.close(s);
  owner_.mem_fill(0, data, 4096, "\2", 1, s);
  const ipc_handle handle(owner_.ipc_get_memory(0, data));
  auto* there = as_bytes(other_.ipc_open_memory(0, handle));
  EXPECT_EQ(there[4095], 1);
  gate_.open();
  owner_.stream_sync(0, s);
  EXPECT_EQ(there[4095], 2);
  other_.ipc_close_memory(0, there);
}

// As a CPU kernel writes, which no slot knows of.
TEST_F(HostIpcTest, WritesOfAThreadAreKeptWhileMemoryIsShared) {
  constexpr std::size_t count = 1 << 18;
  for (int round = 0; round < 20; ++round) {
    auto* words = reinterpret_cast<uint32_t*>(alloc(count * sizeof(uint32_t), 0));
    std::atomic<bool> running{false}, enough{false};
    uint32_t times = 0;
    std::thread writer([&] {
      for (; !enough || times < 2; ++times, running = true) {
        for (std::size_t i = 0; i < count; i += 1024) ++words[i];
      }
    });
    while (!running) std::this_thread::yield();
    const ipc_handle handle(owner_.ipc_get_memory(0, words));
    enough = true;
    writer.join();
    auto* there = static_cast<uint32_t*>(other_.ipc_open_memory(0, handle));
    for (std::size_t i = 0; i < count; i += 1024) {
      ASSERT_EQ(words[i], times) << "word " << i << " of round " << round;
      ASSERT_EQ(there[i], times);
    }
    other_.ipc_close_memory(0, there);
    owner_.mem_free(0, words);
  }
}

TEST_F(HostIpcTest, WithFewDescriptorsMemoryIsThereAndNotShared) {
  EXPECT_TRUE(in_child([&] {
    const rlimit few = {64, 64};
    setrlimit(RLIMIT_NOFILE, &few);
    std::vector<unsigned char*> all;
    for (int i = 0; i < 100; ++i) all.push_back(alloc(4096, i));
    for (int i = 0; i < 100; ++i) {
      if (all[i][4095] != i) return false;
    }
    const ipc_handle first(owner_.ipc_get_memory(0, all.front()));
    try {
      owner_.ipc_get_memory(0, all.back());
      return false;
    } catch (const runtime_error& error) {
      if (std::string(error.what()).find("ulimit -n") == std::string::npos) return false;
    }
    // Files that are closed make room for others.
    for (unsigned char* each : all) owner_.mem_free(0, each);
    const ipc_handle next(owner_.ipc_get_memory(0, alloc(1 << 20, 1)));
    return next.size != 0;
  }));
}

TEST_F(HostIpcTest, WrongHandlesAreRefused) {
  unsigned char* data = alloc(4096, 1);
  const ipc_handle good(owner_.ipc_get_memory(0, data));
  const outback_event e = owner_.event_create(0, OUTBACK_EVENT_INTERPROCESS);
  const ipc_handle of_event(owner_.ipc_get_event(0, e));
  const auto refused = [&](const outback_ipc_handle& handle) {
    return refusal([&] { other_.ipc_open_memory(0, handle); }) != "accepted";
  };
  outback_ipc_handle wrong = {};
  wrong.struct_size = sizeof(wrong);
  EXPECT_TRUE(refused(wrong));
  EXPECT_TRUE(refused(of_event));
  EXPECT_NE(refusal([&] { other_.ipc_open_event(0, good); }), "accepted");
  for (const uint32_t size : {0u, good.size - 1, good.size + 1, 112u}) {
    wrong = good, wrong.size = size;
    EXPECT_TRUE(refused(wrong)) << size;
  }
  const int unrelated = memfd_create("unrelated", MFD_CLOEXEC);
  for (const int fd : {0, 1, unrelated, of_event.fd, 1'000'000, -2}) {
    wrong = good, wrong.fd = fd;
    EXPECT_TRUE(refused(wrong)) << "descriptor " << fd;
  }
  close(unrelated);
  // A number that stands for another file by now is seen before that is opened.
  wrong = good, wrong.fd = -1;
  const int other_file = open("/dev/null", O_RDWR | O_CLOEXEC);
  std::memcpy(wrong.bytes + 16, &other_file, sizeof(other_file));
  EXPECT_THAT(refusal([&] { other_.ipc_open_memory(0, wrong); }), HasSubstr("does not show"));
  close(other_file);
  // Every bit of it counts, but the owner's process and descriptor where another one came along.
  std::vector<std::size_t> harmless;
  for (std::size_t i = 0; i < good.size; ++i) {
    wrong = good;
    wrong.bytes[i] ^= 0x41;
    if (!refused(wrong)) {
      harmless.push_back(i);
      other_.ipc_close_memory(0, other_.ipc_open_memory(0, wrong));
      other_.ipc_close_memory(0, other_.ipc_open_memory(0, good));
    }
    wrong.fd = -1;  // no crash, whatever it opens
    try {
      other_.ipc_open_memory(0, wrong);
    } catch (const invalid_argument&) {  // NOLINT(bugprone-empty-catch)
    }
  }
  EXPECT_LE(harmless.size(), 14u);  // process, fd, padding, and where in a page it ends
  std::mt19937 random(1);
  for (int i = 0; i < 1000; ++i) {
    wrong = good;
    std::generate(std::begin(wrong.bytes) + 8, std::end(wrong.bytes),
                  [&] { return uint8_t(random()); });
    EXPECT_TRUE(refused(wrong));
  }
  owner_.event_destroy(0, e);
}

TEST_F(HostIpcTest, WithoutDescriptorsTheHandleIsNotToBlame) {
  ipc_handle handle(owner_.ipc_get_memory(0, alloc(4096, 1)));
  for (const bool travelled : {true, false}) {
    outback_ipc_handle given = handle;
    if (!travelled) given.fd = -1;
    EXPECT_TRUE(in_child([&] {
      const rlimit few = {64, 64};
      setrlimit(RLIMIT_NOFILE, &few);
      while (dup(handle.fd) >= 0) {
      }
      try {
        other_.ipc_open_memory(0, given);
      } catch (const runtime_error& error) {
        return error.status() == OUTBACK_INTERNAL &&
               std::string(error.what()).find("Too many open files") != std::string::npos;
      }
      return false;
    })) << travelled;
  }
}

// Wherever memory is short while it is opened.
TEST_F(HostIpcTest, WhatCouldNotBeOpenedIsNotThere) {
  const ipc_handle handle(owner_.ipc_get_memory(0, alloc(4096, 1)));
  void* const there = other_.ipc_open_memory(1, handle);
  other_.ipc_close_memory(1, there);
  bool opened = false;
  for (int spared = 0; !opened; ++spared) {
    SCOPED_TRACE(spared);
    ASSERT_LT(spared, 100);
    allocations_left = spared;
    try {
      opened = other_.ipc_open_memory(1, handle) != nullptr;
    } catch (const std::bad_alloc&) {
      allocations_left = -1;
      EXPECT_EQ(other_.host_info(there).device, OUTBACK_HOST);
      EXPECT_NE(refusal([&] { other_.ipc_close_memory(1, there); }), "accepted");
    }
    allocations_left = -1;
  }
  EXPECT_EQ(other_.host_info(there).device, 1) << "the address was another one";
  other_.ipc_close_memory(1, there);
}

// Its pages could be taken away under a mapping of them.
TEST_F(HostIpcTest, SharedFilesCannotShrink) {
  const ipc_handle handle(owner_.ipc_get_memory(0, alloc(8192, 1)));
  EXPECT_NE(ftruncate(handle.fd, 0), 0);
  EXPECT_NE(ftruncate(handle.fd, 1 << 20), 0);
}

TEST_F(HostIpcTest, AForkedChildUsesTheMemoryOfItsParent) {
  unsigned char *own = alloc(100, 1), *shared = alloc(100, 1);
  const ipc_handle handle(owner_.ipc_get_memory(0, shared));
  EXPECT_TRUE(in_child([&] {
    owner_.mem_fill(0, own, 100, "\2", 1, nullptr);
    owner_.mem_fill(0, shared, 100, "\2", 1, nullptr);
    if (own[99] != 2 || shared[99] != 2) return false;
    // It has the memory, so there is nothing to open; and another runtime's handle opens.
    if (refusal([&] { owner_.ipc_open_memory(0, handle); }) == "accepted") return false;
    void* there = other_.ipc_open_memory(0, handle);
    if (*as_bytes(there) != 2) return false;
    other_.ipc_close_memory(0, there);
    try {
      owner_.ipc_get_memory(0, own);  // the parent would not know of it
      return false;
    } catch (const runtime_error&) {  // NOLINT(bugprone-empty-catch)
    }
    return true;
  }));
  EXPECT_EQ(own[99], 2);
  EXPECT_EQ(shared[99], 2);
}

// Memory that one of the two frees may not become memory of both.
TEST_F(HostIpcTest, AForkedChildAllocatesMemoryOfItsOwn) {
  unsigned char *kept = alloc(100, 1), *freed = alloc(100, 1);
  owner_.mem_free(0, freed);
  EXPECT_TRUE(in_child([&] {
    owner_.mem_free(0, kept);
    for (int i = 0; i < 3; ++i) alloc(100, 3);
    return true;
  }));
  EXPECT_EQ(kept[99], 1);
  EXPECT_EQ(alloc(100, 0)[99], 0);
  EXPECT_TRUE(in_child([&] {
    for (int i = 0; i < 3; ++i) alloc(100, 3);
    return true;
  }));
  const unsigned char* again = static_cast<unsigned char*>(owner_.mem_alloc(0, 100));
  EXPECT_NE(again[99], 3);
}

TEST_F(HostIpcTest, FreedMemoryIsUsedAgainUnlessItWasShared) {
  unsigned char* data = alloc(1 << 20, 1);
  owner_.mem_free(0, data);
  unsigned char* next = alloc(1 << 20, 2);
  EXPECT_EQ(next, data);
  const ipc_handle handle(owner_.ipc_get_memory(0, next));
  owner_.mem_free(0, next);
  EXPECT_EQ(mappings_of(handle), 0);
}

TEST_F(HostIpcTest, AnEventIsPendingWhereItWasNotRecorded) {
  const outback_event here = owner_.event_create(0, OUTBACK_EVENT_INTERPROCESS);
  ipc_handle handle(owner_.ipc_get_event(0, here));
  handle.close_fd();
  const outback_event there = other_.ipc_open_event(1, handle);
  const outback_stream s = owner_.stream_create(0, 0), waiting = other_.stream_create(1, 0);
  EXPECT_TRUE(other_.event_query(1, there));
  gate_.close(s);
  owner_.event_record(0, here, s);
  EXPECT_FALSE(other_.event_query(1, there));
  gate not_yet;
  not_yet.close(waiting);
  other_.event_wait(1, there, waiting);
  // Recorded on the other side: that is what it stands for now, and the wait keeps what it saw.
  other_.event_record(1, there, nullptr);
  EXPECT_TRUE(owner_.event_query(0, here));
  not_yet.open();
  auto waited = std::async(std::launch::async, [&] { other_.stream_sync(1, waiting); });
  EXPECT_TRUE(pending(waited));
  gate_.open();
  waited.get();
  owner_.event_record(0, here, s);
  owner_.event_destroy(0, here);
  other_.event_sync(1, there);
  EXPECT_THAT(refusal([&] { other_.event_elapsed(there, there); }), HasSubstr("TIMING"));
  other_.event_destroy(1, there);
}

// More recordings than there are places for, of which the first is the last to be reached.
TEST_F(HostIpcTest, RecordingsDoNotOvertakeAWait) {
  const outback_event e = owner_.event_create(0, OUTBACK_EVENT_INTERPROCESS);
  const outback_stream stuck = owner_.stream_create(0, 0), quick = owner_.stream_create(0, 0),
                       waiting = owner_.stream_create(0, 0);
  gate_.close(stuck);
  owner_.event_record(0, e, stuck);
  owner_.event_wait(0, e, waiting);
  for (int i = 0; i < 1000; ++i) owner_.event_record(0, e, quick);
  auto waited = std::async(std::launch::async, [&] { owner_.stream_sync(0, waiting); });
  EXPECT_TRUE(pending(waited));
  gate_.open();
  waited.get();
  owner_.event_sync(0, e);
  EXPECT_TRUE(owner_.event_query(0, e));
  owner_.stream_sync(0, quick);
  owner_.event_destroy(0, e);
}

// Recording 257 waits for the place of the first, and 601 would wait for a place behind it. In the
// child the stream's thread is missing, so nothing can be recorded there.
TEST_F(HostIpcTest, ARecordingThatFailsDoesNotWaitForOthers) {
  const outback_event e = owner_.event_create(0, OUTBACK_EVENT_INTERPROCESS);
  const outback_stream stuck = owner_.stream_create(0, 0), quick = owner_.stream_create(0, 0);
  gate_.close(stuck);
  owner_.event_record(0, e, stuck);
  for (int i = 0; i < 600; ++i) owner_.event_record(0, e, quick);
  EXPECT_TRUE(in_child([&] {
    try {
      owner_.event_record(0, e, quick);
      return false;
    } catch (const runtime_error&) {
      return true;
    }
  }));
  gate_.open();
  owner_.event_sync(0, e);  // nobody waits for the one that failed
  owner_.event_destroy(0, e);
}

}  // namespace
}  // namespace outback::host
