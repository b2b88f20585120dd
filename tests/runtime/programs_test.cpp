// The random programs themselves, without a runtime: that they are legal, that what is illegal is
// found, and that they can be cut down.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/runtime/suite/programs/generator.hpp"
#include "tests/runtime/suite/programs/model.hpp"
#include "tests/runtime/suite/programs/order.hpp"
#include "tests/runtime/suite/programs/shrink.hpp"

namespace outback::suite {
namespace {

constexpr machine everything = {.devices = 2,
                                .streams = true,
                                .events = true,
                                .pinned = true,
                                .callbacks = true,
                                .largest = 5000};
constexpr machine least = {.devices = 1, .largest = 5000};

TEST(Programs, AreLegal) {
  for (const machine& on : {everything, least}) {
    for (uint64_t seed = 0; seed < 300; ++seed) {
      const program p = generate(seed, on);
      EXPECT_EQ(legal_part(on, p.operations).size(), p.operations.size()) << "seed " << seed;
    }
  }
}

TEST(Programs, FollowFromTheirSeed) {
  EXPECT_EQ(text_of(generate(7, everything)), text_of(generate(7, everything)));
  EXPECT_NE(text_of(generate(7, everything)), text_of(generate(8, everything)));
}

TEST(Programs, HaveEveryOperationThatTheMachineHas) {
  std::set<action> seen, seen_on_least;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    for (const operation& o : generate(seed, everything).operations) seen.insert(o.what);
    for (const operation& o : generate(seed, least).operations) seen_on_least.insert(o.what);
  }
  EXPECT_EQ(seen.size(), std::size_t(action::read_back) + 1);
  const std::set<action> without_groups = {
      action::device_sync, action::alloc,      action::free,       action::fill,
      action::copy,        action::host_write, action::host_check, action::read_back};
  EXPECT_EQ(seen_on_least, without_groups);
}

// ---- Legal or not, by hand. Streams 0 and 1 are the default ones, 2 and 3 others of device 0.

class Order : public testing::Test {
 protected:
  Order() {
    for (const int32_t s : {2, 3}) add({.what = action::stream_create, .place = 0, .stream = s});
    add({.what = action::event_create, .place = 0, .event = 0});
    add({.what = action::alloc, .place = 0, .buffer = 0, .size = 64});
    add({.what = action::alloc, .place = in_pageable, .buffer = 1, .size = 64});
    add({.what = action::alloc, .place = in_pinned, .buffer = 2, .size = 64});
    for (const int32_t b : {1, 2}) add({.what = action::host_write, .buffer = b, .size = 64});
  }

  void add(const operation& o) {
    ASSERT_TRUE(order_.legal(o)) << text_of(o);
    order_.apply(o);
  }
  bool legal(const operation& o) const { return order_.legal(o); }

  static operation fill(int32_t stream, std::size_t offset = 0, std::size_t size = 64) {
    return {.what = action::fill, .stream = stream, .buffer = 0, .offset = offset, .size = size};
  }
  static operation copy(int32_t from, int32_t to, int32_t stream) {
    return {.what = action::copy, .stream = stream, .from = from, .buffer = to, .size = 64};
  }
  static operation host_write(int32_t buffer) {
    return {.what = action::host_write, .buffer = buffer, .size = 64};
  }
  static operation record(int32_t stream) {
    return {.what = action::event_record, .stream = stream};
  }
  static operation wait(int32_t stream) { return {.what = action::event_wait, .stream = stream}; }

  order order_{everything};
};

TEST_F(Order, TwoStreamsRaceUnlessOneWaits) {
  add(fill(2));
  EXPECT_TRUE(legal(fill(2)));
  EXPECT_FALSE(legal(fill(3)));
  add(wait(3));  // for an event that was never recorded
  EXPECT_FALSE(legal(fill(3)));
  add(record(2));
  EXPECT_FALSE(legal(fill(3)));
  add(wait(3));
  EXPECT_TRUE(legal(fill(3)));
  add(fill(2));  // after the recording
  EXPECT_FALSE(legal(fill(3)));
}

TEST_F(Order, WhatIsBesideDoesNotRace) {
  add(fill(2, 0, 32));
  EXPECT_TRUE(legal(fill(3, 32, 32)));
  EXPECT_FALSE(legal(fill(3, 31, 2)));
}

TEST_F(Order, WaitsAreHandedOn) {
  add(fill(2));
  add(record(2));
  add(wait(1));  // another device's
  add(record(3));
  add({.what = action::event_create, .place = 1, .event = 1});
  add({.what = action::event_record, .stream = 1, .event = 1});
  EXPECT_FALSE(legal(fill(3)));
  add({.what = action::event_wait, .stream = 3, .event = 1});
  EXPECT_TRUE(legal(fill(3)));
}

TEST_F(Order, ReadersDoNotRaceWithOneAnother) {
  add(fill(2));
  add({.what = action::stream_sync, .stream = 2});
  add(copy(0, 1, 2));
  EXPECT_TRUE(legal(copy(0, 2, 3)));
  EXPECT_FALSE(legal(fill(3)));
}

TEST_F(Order, APageableSourceIsTheHostsAgainAndAPinnedOneIsNot) {
  add(copy(1, 0, 2));
  EXPECT_TRUE(legal(host_write(1)));
  add(copy(2, 0, 2));
  EXPECT_FALSE(legal(host_write(2)));
  add({.what = action::stream_poll, .stream = 2});
  EXPECT_TRUE(legal(host_write(2)));
}

// The runtime may read it at the call, when the stream has not written it yet.
TEST_F(Order, APageableSourceHasToBeThereAtTheCall) {
  add(fill(2));
  add(copy(0, 1, 2));
  EXPECT_FALSE(legal(copy(1, 0, 2)));
  add(record(2));
  add({.what = action::event_sync});
  EXPECT_TRUE(legal(copy(1, 0, 2)));
}

TEST_F(Order, ADestinationOnTheHostIsTheStreamsUntilASync) {
  add(fill(2));
  add(copy(0, 1, 2));
  const operation look = {.what = action::host_check, .buffer = 1, .size = 64};
  EXPECT_FALSE(legal(look));
  add({.what = action::device_sync, .place = 1});
  EXPECT_FALSE(legal(look));
  add({.what = action::device_sync, .place = 0});
  EXPECT_TRUE(legal(look));
}

TEST_F(Order, WhatIsInUseIsNotFreed) {
  add(fill(2));
  const operation free = {.what = action::free, .buffer = 0};
  EXPECT_FALSE(legal(free));
  add({.what = action::stream_destroy, .stream = 2});
  EXPECT_FALSE(legal(free));
  add({.what = action::device_sync, .place = 0});  // of the destroyed one too
  add(free);
  EXPECT_FALSE(legal(fill(3)));
}

TEST_F(Order, NothingIsReadThatWasNotWritten) {
  const operation read = {.what = action::read_back, .stream = 2, .buffer = 0, .size = 64};
  EXPECT_FALSE(legal(read));
  add(fill(2, 0, 63));
  EXPECT_FALSE(legal(read));
  add(fill(2));
  EXPECT_TRUE(legal(read));
}

TEST_F(Order, CopiesTakeTheSourcesStreamAndNoOverlap) {
  add(fill(2));
  add({.what = action::alloc, .place = 1, .buffer = 3, .size = 64});
  EXPECT_TRUE(legal(copy(0, 3, 2)));
  EXPECT_FALSE(legal(copy(0, 3, 1)));
  EXPECT_FALSE(legal(copy(1, 2, 2)));
  operation within = copy(0, 0, 2);
  EXPECT_FALSE(legal(within));
  within.size = within.offset = 32;
  EXPECT_TRUE(legal(within));
}

TEST_F(Order, AnswersAreCertainAfterASyncOnly) {
  const operation event = {.what = action::event_query},
                  stream = {.what = action::stream_query, .stream = 2};
  EXPECT_TRUE(order_.surely_ready(event));
  EXPECT_TRUE(order_.surely_ready(stream));
  add(fill(2));
  add(record(2));
  EXPECT_FALSE(order_.surely_ready(event));
  EXPECT_FALSE(order_.surely_ready(stream));
  add({.what = action::event_sync});
  EXPECT_TRUE(order_.surely_ready(event));
  EXPECT_FALSE(order_.surely_ready(stream));
  add({.what = action::stream_sync, .stream = 2});
  EXPECT_TRUE(order_.surely_ready(stream));
}

// ---- Cutting down

TEST(Shrink, LeavesWhatFailsAndWhatThatNeeds) {
  const auto is_narrow_fill = [](const operation& o) {
    return o.what == action::fill && o.width == 2;
  };
  const auto fails = [&](const program& p) {
    return std::any_of(p.operations.begin(), p.operations.end(), is_narrow_fill);
  };
  uint64_t seed = 0;
  while (!fails(generate(seed, everything))) ++seed;
  const program cut = shrink(generate(seed, everything), fails, std::chrono::minutes(1));
  ASSERT_LE(cut.operations.size(), 3u) << text_of(cut);
  EXPECT_TRUE(is_narrow_fill(cut.operations.back()));
}

TEST(Shrink, LeavesAllWhereNothingCanBeSpared) {
  const program p = generate(3, everything);
  const auto fails = [&](const program& q) { return q.operations.size() == p.operations.size(); };
  EXPECT_EQ(text_of(shrink(p, fails, std::chrono::minutes(1))), text_of(p));
}

}  // namespace
}  // namespace outback::suite
