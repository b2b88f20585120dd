// The cache of one device, without a device: streams and threads against a model that counts in one
// place.
#include "backend_template/core/memory/allocator/device_cache.h"

#include <c10/core/AllocatorConfig.h>
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <functional>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "backend_template/core/memory/allocator/size_policy.h"

namespace outback::test {
namespace {

using core::block;
using core::device_cache;
using core::mebibyte;

device_cache::request request_of(size_t size, size_t requested, c10::StreamId stream = 0,
                                 c10::MempoolId_t pool = {0, 0}) {
  return {.requested = requested,
          .size = size,
          .stream = stream,
          .pool = pool,
          .bypasses_cache = false,
          .context = nullptr};
}

// A cache, and addresses in place of memory. Thread-safe.
class FakeDevice {
 public:
  block* allocate(c10::StreamId stream, size_t requested, c10::MempoolId_t pool = {0, 0}) {
    const device_cache::request wanted =
        request_of(core::rounded_size(requested, 64), requested, stream, pool);
    if (block* const found = cache.take(wanted)) return found;
    const size_t size = core::segment_size(wanted.size);
    return cache.add_segment(reinterpret_cast<void*>(next_.fetch_add(size)), size, wanted);
  }
  void free(block* it) { EXPECT_TRUE(cache.put_back(it, nullptr)); }
  void give_back(block* list) {
    while (list != nullptr) {
      block* const next = std::exchange(list->next, nullptr);
      cache.forget(list);
      list = next;
    }
  }

  device_cache cache{0};

 private:
  std::atomic<size_t> next_{mebibyte};
};

// What c10's counters say when one thread tells them everything.
struct model {
  c10::CachingAllocator::StatArray allocation, active, allocated_bytes, active_bytes,
      requested_bytes;

  void allocate(const block& it) {
    const size_t pool = core::is_small(it) ? 1 : 2;
    for (const size_t row : {size_t{0}, pool}) {
      allocation[row].increase(1);
      active[row].increase(1);
      allocated_bytes[row].increase(it.size);
      active_bytes[row].increase(it.size);
      requested_bytes[row].increase(it.requested);
    }
  }
  void give_up(const block& it) {
    const size_t pool = core::is_small(it) ? 1 : 2;
    for (const size_t row : {size_t{0}, pool}) {
      allocation[row].decrease(1);
      allocated_bytes[row].decrease(it.size);
      requested_bytes[row].decrease(it.requested);
    }
  }
  void deactivate(const block& it) {
    const size_t pool = core::is_small(it) ? 1 : 2;
    for (const size_t row : {size_t{0}, pool}) {
      active[row].decrease(1);
      active_bytes[row].decrease(it.size);
    }
  }
  void for_each(const std::function<void(c10::CachingAllocator::Stat&)>& visit) {
    for (auto* array : {&allocation, &active, &allocated_bytes, &active_bytes, &requested_bytes}) {
      for (auto& it : *array) visit(it);
    }
  }
};

void expect_same(const c10::CachingAllocator::StatArray& counted,
                 const c10::CachingAllocator::StatArray& expected, const char* what) {
  for (size_t row = 0; row < counted.size(); ++row) {
    ASSERT_EQ(counted[row].current, expected[row].current) << what << " " << row;
    ASSERT_EQ(counted[row].peak, expected[row].peak) << what << " " << row;
    ASSERT_EQ(counted[row].allocated, expected[row].allocated) << what << " " << row;
    ASSERT_EQ(counted[row].freed, expected[row].freed) << what << " " << row;
  }
}

void expect_same(const core::device_stats& counted, const model& expected) {
  expect_same(counted.allocation, expected.allocation, "allocation");
  expect_same(counted.active, expected.active, "active");
  expect_same(counted.allocated_bytes, expected.allocated_bytes, "allocated_bytes");
  expect_same(counted.active_bytes, expected.active_bytes, "active_bytes");
  expect_same(counted.requested_bytes, expected.requested_bytes, "requested_bytes");
}

// What a snapshot shows must be what the counters say.
void expect_consistent(device_cache& cache) {
  const core::device_stats stats = cache.stats();
  int64_t reserved = 0;
  int64_t inactive = 0;
  int64_t inactive_bytes = 0;
  int64_t allocated = 0;
  const auto segments = cache.segments({0, 0});
  for (const auto& segment : segments) {
    reserved += static_cast<int64_t>(segment.total_size);
    for (const auto& it : segment.blocks) {
      if (it.allocated) allocated += static_cast<int64_t>(it.size);
      if (it.active || segment.blocks.size() == 1) continue;
      inactive += 1;
      inactive_bytes += static_cast<int64_t>(it.size);
    }
  }
  ASSERT_EQ(stats.segment[0].current, static_cast<int64_t>(segments.size()));
  ASSERT_EQ(stats.reserved_bytes[0].current, reserved);
  ASSERT_EQ(stats.inactive_split[0].current, inactive);
  ASSERT_EQ(stats.inactive_split_bytes[0].current, inactive_bytes);
  ASSERT_EQ(stats.allocated_bytes[0].current, allocated);
  ASSERT_EQ(static_cast<int64_t>(cache.allocated()), allocated);
  ASSERT_EQ(static_cast<int64_t>(cache.reserved() + cache.adopted()), reserved);
}

size_t random_size(std::mt19937& random) {
  switch (random() % 4) {
    case 0:
      return 1 + random() % 500;
    case 1:
      return 1 + random() % (64 << 10);
    case 2:
      return 1 + random() % mebibyte;
    default:
      return 1 + random() % (8 * mebibyte);
  }
}

TEST(DeviceCacheTest, StatisticsAgreeWithAModelOnAnyStreams) {
  FakeDevice device;
  model expected;
  std::mt19937 random(3);
  std::vector<block*> held;
  std::vector<block*> given_up;
  const c10::StreamId streams[] = {0, 1, 5, 32, 33, 700};
  for (int step = 0; step < 20000; ++step) {
    if (held.size() < 60 && random() % 100 < 52) {
      held.push_back(device.allocate(streams[random() % 6], random_size(random)));
      expected.allocate(*held.back());
    } else if (!held.empty()) {
      std::swap(held[random() % held.size()], held.back());
      block* const gone = held.back();
      held.pop_back();
      expected.give_up(*gone);
      if (random() % 10 == 0) {  // a stream still uses it
        device.cache.give_up(gone, nullptr);
        given_up.push_back(gone);
      } else {
        expected.deactivate(*gone);
        device.free(gone);
      }
    }
    if (given_up.size() > 5) {
      for (block* const it : std::exchange(given_up, {})) {
        expected.deactivate(*it);
        device.free(it);
      }
    }
    if (random() % 500 == 0) {
      device.cache.reset_peak();
      expected.for_each([](auto& stat) { stat.reset_peak(); });
    }
    if (random() % 500 == 0) {
      device.cache.reset_accumulated();
      expected.for_each([](auto& stat) { stat.reset_accumulated(); });
    }
    if (random() % 500 == 0) device.give_back(device.cache.take_cached({0, 0}));
    if (step % 10 == 0) {
      ASSERT_NO_FATAL_FAILURE(expect_same(device.cache.stats(), expected)) << "at step " << step;
      ASSERT_NO_FATAL_FAILURE(expect_consistent(device.cache)) << "at step " << step;
    }
  }
}

TEST(DeviceCacheTest, ThreadsOnStreamsOfTheirOwnReachTheExactPeak) {
  constexpr int threads = 4;
  constexpr int rounds = 30;
  FakeDevice device;
  std::barrier meet(threads);
  std::array<std::array<int64_t, rounds>, threads> tops{};
  std::vector<std::thread> all;
  for (int me = 0; me < threads; ++me) {
    all.emplace_back([&, me] {
      std::mt19937 random(static_cast<unsigned>(me));
      std::vector<block*> held;
      for (int round = 0; round < rounds; ++round) {
        for (int i = 0; i < 50; ++i) held.push_back(device.allocate(me, random_size(random)));
        for (const block* it : held) tops[me][round] += static_cast<int64_t>(it->size);
        meet.arrive_and_wait();  // nobody frees before all have allocated
        while (held.size() > random() % 100) {
          device.free(held.back());
          held.pop_back();
        }
        meet.arrive_and_wait();
      }
      for (block* it : held) device.free(it);
    });
  }
  for (auto& it : all) it.join();
  int64_t peak = 0;
  for (int round = 0; round < rounds; ++round) {
    int64_t sum = 0;
    for (const auto& it : tops) sum += it[round];
    peak = std::max(peak, sum);
  }
  const core::device_stats stats = device.cache.stats();
  EXPECT_EQ(stats.allocated_bytes[0].peak, peak);
  EXPECT_EQ(stats.active_bytes[0].peak, peak);
  EXPECT_EQ(stats.allocation[0].current, 0);
  EXPECT_EQ(stats.allocation[0].allocated, threads * rounds * 50);
  EXPECT_EQ(stats.allocation[0].freed, threads * rounds * 50);
  expect_consistent(device.cache);
}

// Everything at once, for the sanitizers above all: what can be said at the end is that nothing was
// lost.
TEST(DeviceCacheTest, ThreadsMayDoAnythingAtAnyTime) {
  constexpr int threads = 6;
  FakeDevice device;
  std::mutex mutex;
  std::vector<block*> shared;  // allocated by one thread, freed by another
  std::atomic<int64_t> allocations{0};
  std::vector<std::thread> all;
  for (int me = 0; me < threads; ++me) {
    all.emplace_back([&, me] {
      std::mt19937 random(static_cast<unsigned>(me));
      const c10::MempoolId_t pool{0, static_cast<uint64_t>(me % 2 + 1)};
      for (int step = 0; step < 4000; ++step) {
        const auto what = random() % 1000;
        if (what < 500) {
          const auto stream = static_cast<c10::StreamId>(random() % 4);
          const bool in_pool = random() % 8 == 0;
          if (in_pool) device.cache.begin_pool_use(pool);
          block* const made =
              device.allocate(stream, random_size(random), in_pool ? pool : c10::MempoolId_t{0, 0});
          if (in_pool) device.cache.end_pool_use(pool);
          allocations.fetch_add(1);
          if (random() % 20 == 0) device.cache.record(made, stream + 1);
          std::lock_guard<std::mutex> lock(mutex);
          shared.push_back(made);
        } else if (what < 985) {
          block* gone = nullptr;
          {
            std::lock_guard<std::mutex> lock(mutex);
            if (shared.size() < 20) continue;
            std::swap(shared[random() % shared.size()], shared.back());
            gone = shared.back();
            shared.pop_back();
          }
          if (random() % 10 == 0) device.cache.give_up(gone, nullptr);
          device.free(gone);
        } else if (what < 990) {
          device.give_back(device.cache.take_cached({0, 0}));
        } else if (what < 992) {
          device.give_back(device.cache.take_oldest(10 * mebibyte));
        } else if (what < 994) {
          device.cache.configure_history({.enabled = random() % 2 == 0, .most_entries = 50});
        } else if (what < 996) {
          const core::device_stats stats = device.cache.stats();
          EXPECT_GE(stats.allocated_bytes[0].peak, stats.allocated_bytes[0].current);
          EXPECT_EQ(stats.allocation[0].current,
                    stats.allocation[1].current + stats.allocation[2].current);
        } else if (what < 997) {
          device.cache.set_pool_options(pool, random() % 2 == 0, random() % 2 == 0);
        } else if (what < 998) {
          static_cast<void>(device.cache.segments({0, 0}));
          static_cast<void>(device.cache.trace(nullptr));
        } else if (what < 999) {
          static_cast<void>(device.cache.largest_free() + device.cache.allocated());
        } else {
          device.cache.reset_peak();
        }
      }
    });
  }
  for (auto& it : all) it.join();
  expect_consistent(device.cache);
  for (block* it : shared) device.free(it);
  expect_consistent(device.cache);
  const core::device_stats stats = device.cache.stats();
  EXPECT_EQ(stats.allocation[0].current, 0);
  EXPECT_EQ(stats.active_bytes[0].current, 0);
  EXPECT_EQ(stats.allocation[0].allocated, allocations.load());
  device.give_back(device.cache.take_cached({0, 0}));
  EXPECT_EQ(device.cache.reserved(), 0U);
  expect_consistent(device.cache);
}

// With a limit for blocks that are kept whole.
class MaxSplitSizeTest : public ::testing::Test {
 protected:
  MaxSplitSizeTest() { c10::CachingAllocator::setAllocatorSettings("max_split_size_mb:32"); }
  ~MaxSplitSizeTest() override {
    c10::CachingAllocator::setAllocatorSettings("max_split_size_mb:17592186044415");
    c10::CachingAllocator::setAllocatorSettings("");
  }
  static constexpr c10::MempoolId_t reserve{0, 1};
};

TEST_F(MaxSplitSizeTest, TheReserveKeepsLargeBlocksWholeToo) {
  FakeDevice device;
  device.cache.set_pool_options(reserve, /*use_on_oom=*/true, /*no_split=*/false);
  device.free(device.allocate(0, 100 * mebibyte, reserve));
  const auto served = [&](size_t size) {
    return device.cache.take_from_reserves(request_of(size, size));
  };
  EXPECT_EQ(served(4 * mebibyte), nullptr);
  block* const whole = served(90 * mebibyte);
  ASSERT_NE(whole, nullptr);
  EXPECT_EQ(whole->size, 100 * mebibyte);
}

TEST_F(MaxSplitSizeTest, TheReserveMergesWhatWasFreedLast) {
  FakeDevice device;
  device.cache.set_pool_options(reserve, /*use_on_oom=*/true, /*no_split=*/false);
  block* const first = device.allocate(0, 4096, reserve);
  device.allocate(0, mebibyte, reserve);
  device.allocate(0, mebibyte - 4096, reserve);
  device.free(first);
  EXPECT_EQ(device.cache.take_from_reserves(request_of(4096, 4096)), first);
}

TEST_F(MaxSplitSizeTest, TheSmallestBlockServesBehindManyThatAreTooLarge) {
  FakeDevice device;
  // All in one bin: from 256 to 288 MiB. max_non_split_rounding_mb is 20.
  std::vector<block*> held{device.allocate(0, 256 * mebibyte)};
  for (int i = 0; i < 64; ++i) held.push_back(device.allocate(0, 287 * mebibyte));
  for (block* const it : held) device.free(it);
  const size_t size = 256 * mebibyte - 64;
  EXPECT_EQ(device.cache.take(request_of(size, size)), held[0]);
}

TEST(DeviceCacheTest, TheStreamsOldestSegmentsGoFirst) {
  FakeDevice device;
  std::vector<block*> blocks;
  for (const c10::StreamId stream : {1, 2, 3}) {
    blocks.push_back(device.allocate(stream, 8 * mebibyte));
  }
  device.free(blocks[1]);
  block* const other = device.allocate(4, 8 * mebibyte);
  device.free(blocks[0]);
  device.free(blocks[2]);
  block* const oldest = device.cache.take_oldest(1);
  ASSERT_NE(oldest, nullptr);
  EXPECT_EQ(oldest->stream, 2);
  device.give_back(oldest);
  device.free(other);
  EXPECT_EQ(device.cache.reserved(), 24 * mebibyte);
}

}  // namespace
}  // namespace outback::test
