// Counters in shards against one counter that sees everything, one thread and many.
#include "backend_template/core/memory/allocator/peak_escrow.h"

#include <gtest/gtest.h>

#include <barrier>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

namespace outback::test {
namespace {

constexpr size_t count = 3;
using share = core::escrow_share<count>;
using escrow = core::peak_escrow<count>;

struct plain_counter {
  int64_t current = 0, peak = 0, added = 0, removed = 0;
  void add(int64_t amount) {
    current += amount;
    added += amount;
    peak = std::max(peak, current);
  }
  void remove(int64_t amount) {
    current -= amount;
    removed += amount;
  }
};

class Shards {
 public:
  explicit Shards(size_t n) : shares_(n) {
    for (auto& it : shares_) {
      it = std::make_unique<share>();
      all_.push_back(it.get());
    }
  }

  share& operator[](size_t shard) { return *shares_[shard]; }
  void settle(size_t shard) { escrow_.settle(all_, *shares_[shard]); }
  void settle_all() {
    for (size_t i = 0; i < shares_.size(); ++i) {
      if (shares_[i]->is_overdrawn()) settle(i);
    }
  }
  void reset_peaks() { escrow_.reset_peaks(all_); }
  void reset_accumulated() {
    for (share* const it : all_) it->reset_accumulated();
  }

  plain_counter sum(size_t counter) const {
    plain_counter all;
    for (const share* const it : all_) {
      all.current += it->current(counter);
      all.added += it->added(counter);
      all.removed += it->removed(counter);
    }
    all.peak = escrow_.peak(counter);
    return all;
  }

 private:
  std::vector<std::unique_ptr<share>> shares_;
  std::vector<share*> all_;
  escrow escrow_;
};

void expect_same(const plain_counter& counted, const plain_counter& model) {
  ASSERT_EQ(counted.current, model.current);
  ASSERT_EQ(counted.peak, model.peak);
  ASSERT_EQ(counted.added, model.added);
  ASSERT_EQ(counted.removed, model.removed);
}

TEST(PeakEscrowTest, ThePeakIsTheSumsNotTheSumOfThePeaks) {
  Shards shards(2);
  for (size_t turn = 0; turn < 4; ++turn) {
    share& one = shards[turn % 2];
    one.add(0, 100);
    if (one.is_overdrawn()) shards.settle(turn % 2);
    one.remove(0, 100);
  }
  EXPECT_EQ(shards.sum(0).peak, 100);
  EXPECT_EQ(shards.sum(0).added, 400);
  EXPECT_EQ(shards.sum(0).removed, 400);
}

TEST(PeakEscrowTest, WhatWasReachedOnceIsReachedAgainWithoutSettling) {
  Shards shards(8);
  shards[3].add(0, 100);
  shards.settle(3);
  for (int i = 0; i < 10; ++i) {
    shards[3].remove(0, 100);
    shards[3].add(0, 100);
    EXPECT_FALSE(shards[3].is_overdrawn());
  }
}

TEST(PeakEscrowTest, WhatRisesAndFallsWithinAnOperationIsNotSettled) {
  Shards shards(2);
  shards[0].add(0, 100);
  shards.settle(0);
  shards[0].add(1, 10);
  shards[0].add(0, 50);
  shards[0].remove(1, 10);
  shards[0].remove(0, 50);
  EXPECT_FALSE(shards[0].is_overdrawn());
  EXPECT_EQ(shards.sum(0).peak, 100);
  EXPECT_EQ(shards.sum(1).peak, 0);
}

TEST(PeakEscrowTest, AShardThatGrowsWhileOthersRestSettlesSeldom) {
  Shards shards(2);
  shards[0].add(0, 1000);
  shards.settle(0);
  shards[0].remove(0, 1000);
  int settlements = 0;
  for (int i = 0; i < 1000; ++i) {
    shards[1].add(0, 1);
    if (!shards[1].is_overdrawn()) continue;
    shards.settle(1);
    ++settlements;
  }
  EXPECT_LE(settlements, 11);
  EXPECT_EQ(shards.sum(0).peak, 1000);
}

TEST(PeakEscrowTest, AnyOrderOfOperationsAgreesWithOneCounter) {
  std::mt19937 random(11);
  for (const size_t shard_count : {1, 2, 7}) {
    Shards shards(shard_count);
    std::vector<std::array<int64_t, count>> held(shard_count);
    std::array<plain_counter, count> model;
    for (int step = 0; step < 50000; ++step) {
      const size_t shard = random() % shard_count;
      const size_t counter = random() % count;
      int64_t& mine = held[shard][counter];
      const auto amount = static_cast<int64_t>(random() % 100);
      if (random() % 2 == 0) {
        shards[shard].add(counter, amount);
        if (shards[shard].is_overdrawn()) shards.settle(shard);
        mine += amount;
        model[counter].add(amount);
      } else {
        const int64_t given = std::min(mine, amount);
        shards[shard].remove(counter, given);
        mine -= given;
        model[counter].remove(given);
      }
      if (random() % 1000 == 0) {
        shards.reset_peaks();
        for (auto& it : model) it.peak = it.current;
      }
      if (random() % 1000 == 0) {
        shards.reset_accumulated();
        for (auto& it : model) it.added = it.removed = 0;
      }
      ASSERT_NO_FATAL_FAILURE(expect_same(shards.sum(counter), model[counter]));
    }
  }
}

// Locks as device_cache has them: one for each shard, and one to be taken before several of them.
class SharedShards {
 public:
  explicit SharedShards(size_t n) : shards_(n), mutexes_(n) {}

  void add(size_t shard, int64_t amount) {
    bool overdrawn = false;
    {
      std::lock_guard<std::mutex> lock(mutexes_[shard]);
      shards_[shard].add(0, amount);
      overdrawn = shards_[shard].is_overdrawn();
    }
    if (overdrawn) with_all([this] { shards_.settle_all(); });
  }
  void remove(size_t shard, int64_t amount) {
    std::lock_guard<std::mutex> lock(mutexes_[shard]);
    shards_[shard].remove(0, amount);
  }
  plain_counter sum() {
    plain_counter all;
    with_all([&] {
      shards_.settle_all();
      all = shards_.sum(0);
    });
    return all;
  }

 private:
  template <class F>
  void with_all(F work) {
    std::lock_guard<std::mutex> lock(mutex_);
    for (auto& it : mutexes_) it.lock();
    work();
    for (auto& it : mutexes_) it.unlock();
  }

  Shards shards_;
  std::vector<std::mutex> mutexes_;
  std::mutex mutex_;
};

TEST(PeakEscrowTest, ManyThreadsReachTheExactPeak) {
  constexpr size_t threads = 4;
  constexpr int rounds = 50;
  SharedShards shards(threads);
  std::barrier meet(threads);
  std::vector<std::array<int64_t, rounds>> tops(threads);  // of a round, which only adds until then
  std::vector<std::thread> all;
  for (size_t me = 0; me < threads; ++me) {
    all.emplace_back([&, me] {
      std::mt19937 random(static_cast<unsigned>(me));
      int64_t held = 0;
      for (int round = 0; round < rounds; ++round) {
        for (int i = 0; i < 100; ++i) {
          const auto amount = static_cast<int64_t>(random() % 50);
          shards.add(me, amount);
          held += amount;
        }
        tops[me][round] = held;
        meet.arrive_and_wait();  // everything is added, and nothing removed yet
        while (held > static_cast<int64_t>(random() % 2000)) {
          const int64_t amount = std::min<int64_t>(held, random() % 50);
          shards.remove(me, amount);
          held -= amount;
        }
        meet.arrive_and_wait();
      }
      shards.remove(me, held);
    });
  }
  for (auto& it : all) it.join();
  int64_t peak = 0;
  for (int round = 0; round < rounds; ++round) {
    int64_t sum = 0;
    for (const auto& it : tops) sum += it[round];
    peak = std::max(peak, sum);
  }
  const plain_counter counted = shards.sum();
  EXPECT_EQ(counted.peak, peak);
  EXPECT_EQ(counted.current, 0);
  EXPECT_EQ(counted.added, counted.removed);
}

TEST(PeakEscrowTest, AnObserverNeverSeesMoreThanThePeak) {
  constexpr size_t threads = 4;
  SharedShards shards(threads);
  std::vector<std::thread> all;
  for (size_t me = 0; me < threads; ++me) {
    all.emplace_back([&, me] {
      std::mt19937 random(static_cast<unsigned>(me));
      for (int i = 0; i < 3000; ++i) {
        const size_t shard = random() % threads;  // others' too
        const auto amount = static_cast<int64_t>(1 + random() % 100);
        shards.add(shard, amount);
        shards.remove(shard, amount);
      }
    });
  }
  for (int i = 0; i < 300; ++i) {
    const plain_counter seen = shards.sum();
    EXPECT_LE(seen.current, seen.peak);
    EXPECT_EQ(seen.current, seen.added - seen.removed);
  }
  for (auto& it : all) it.join();
  const plain_counter end = shards.sum();
  EXPECT_EQ(end.current, 0);
  EXPECT_GE(end.peak, 1);
  EXPECT_LE(end.peak, 400) << "each thread holds 100 at most";
}

}  // namespace
}  // namespace outback::test
