// Every slot from many threads at once, with a check of what each thread wrote.
#include <algorithm>
#include <stdexcept>
#include <string>

#include "tests/runtime/suite/suite.hpp"

namespace outback::suite {
namespace {

class ThreadTest : public RuntimeTest {
 protected:
  static void expect_same(const bytes& got, const bytes& want) {
    if (const auto result = same(got, want); !result) throw std::runtime_error(result.message());
  }
};

constexpr int threads = 8, rounds = 100;

// Sizes on both sides of whatever a runtime treats specially.
std::size_t size_of_round(int thread, int round) {
  return round % 10 == 0 ? std::min(std::size_t(1) << 20, big()) + std::size_t(thread)
                         : std::size_t(1 + 97 * (round % 50) + thread);
}

TEST_F(ThreadTest, MemoryCopiesAndFills) {
  in_threads(threads, [](int i) {
    const int32_t d = i % device_count();
    for (int round = 0; round < rounds; ++round) {
      const std::size_t size = size_of_round(i, round);
      const bytes content = noise(size, uint64_t(i * rounds + round));
      memory from(content, d), to(size, d);
      from.copy_to(to, nullptr);
      check(table().device_sync(table().self, d), "device_sync");
      from.fill(i);
      expect_same(to.read(), content);
      expect_same(from.read(), all(size, i));
    }
  });
}

TEST_F(ThreadTest, StreamsAndEvents) {
  OUTBACK_NEEDS_GROUP(events);
  in_threads(threads, [](int i) {
    const int32_t d = i % device_count();
    for (int round = 0; round < rounds; ++round) {
      const std::size_t size = size_of_round(i, round);
      stream writer(d), reader(d);
      event e(OUTBACK_EVENT_TIMING, d);
      memory data(size, d), copy(size, d);
      data.write(noise(size, uint64_t(i + round)), writer);
      e.record(writer);
      e.wait(reader, d);
      data.copy_to(copy, reader);
      reader.sync();
      expect_same(copy.read(), noise(size, uint64_t(i + round)));
      e.poll();
      reader.poll();
      int64_t ns = -1;
      check(table().events->elapsed(table().self, e, e, &ns), "events.elapsed");
      if (ns != 0) throw std::runtime_error("no time passes between an event and itself");
    }
  });
}

// One stream for all: what two threads enqueue runs in some order, but not at the same time.
TEST_F(ThreadTest, OneStreamForAllThreads) {
  memory data(4096);
  in_threads(threads, [&](int i) {
    bytes seen(4096);
    for (int round = 0; round < 10 * rounds; ++round) {
      data.fill(i, nullptr);
      check(table().mem_copy(table().self, seen.data(), OUTBACK_HOST, data.at(), 0, seen.size(),
                             nullptr),
            "mem_copy");
      check(table().device_sync(table().self, 0), "device_sync");
      expect_same(seen, bytes(4096, seen[0]));  // somebody's fill, whole
    }
  });
}

TEST_F(ThreadTest, OneEventForAllThreads) {
  OUTBACK_NEEDS_GROUP(events);
  event shared;
  in_threads(threads, [&](int) {
    stream s;
    for (int round = 0; round < rounds; ++round) {
      shared.record(s);
      shared.wait(s);
      const outback_status status = table().events->query(table().self, 0, shared);
      if (status != OUTBACK_NOT_READY) check(status, "events.query");
      shared.sync();
    }
    s.sync();
  });
}

TEST_F(ThreadTest, PinnedMemory) {
  OUTBACK_NEEDS_GROUP(host_memory);
  in_threads(threads, [](int i) {
    for (int round = 0; round < rounds; ++round) {
      void* ptr = nullptr;
      check(table().host_memory->alloc(table().self, std::size_t(1 + 97 * round + i), &ptr),
            "host_memory.alloc");
      check_memory(ptr, 1, "host_memory.alloc");
      check_reach(ptr, 1, "host_memory.alloc");
      outback_pointer_info info = {};
      info.struct_size = sizeof(info);
      check(table().host_memory->info(table().self, ptr, &info), "host_memory.info");
      if (info.pinned != 1)
        throw std::runtime_error("pinned memory that the runtime does not know");
      check(table().host_memory->free(table().self, ptr), "host_memory.free");
    }
  });
}

TEST_F(ThreadTest, FailuresBesideSuccesses) {
  in_threads(threads, [](int i) {
    for (int round = 0; round < rounds; ++round) {
      const int32_t d = -2 - i;
      const outback_status status = table().device_sync(table().self, d);
      const std::string text = table().last_error(table().self);
      if (status != OUTBACK_INVALID_ARGUMENT || text.empty())
        throw std::runtime_error("a failure that is none: " + text);
      check(table().device_sync(table().self, 0), "device_sync");
      if (table().last_error(table().self) != text)
        throw std::runtime_error("another thread's text: " + text);
    }
  });
}

}  // namespace
}  // namespace outback::suite
