// What the adversarial host runtime is for: it finds a wait that a program forgot, and disturbs no
// program that forgot none. Apart from its other tests, since such a program has a data race, which
// a thread sanitizer rightly reports.
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "backend_template/runtimes/host/host_runtime.hpp"

namespace outback::host {
namespace {

constexpr uint64_t seeds = 200;

// Copies on one stream and reads on another, with or without the event between them. Whether what
// was read is right.
bool read_elsewhere(uint64_t seed, bool waits) {
  host_runtime host({.devices = 1, .memory_size = 1 << 20, .adversarial = seed});
  const outback_stream a = host.stream_create(0, 0), b = host.stream_create(0, 0);
  const outback_event e = host.event_create(0, 0);
  void *from = host.mem_alloc(0, 64), *to = host.mem_alloc(0, 64), *read = host.mem_alloc(0, 64);
  std::memset(from, 1, 64), std::memset(to, 2, 64), std::memset(read, 3, 64);
  host.mem_copy(to, 0, from, 0, 64, a);
  if (waits) {
    host.event_record(0, e, a);
    host.event_wait(0, e, b);
  }
  host.mem_copy(read, 0, to, 0, 64, b);
  host.device_sync(0);
  host.event_destroy(0, e);
  return static_cast<const char*>(read)[63] == 1;
}

TEST(HostMissingWaitTest, IsFound) {
  uint64_t wrong = 0;
  for (uint64_t seed = 1; seed <= seeds; ++seed) wrong += read_elsewhere(seed, false) ? 0 : 1;
  RecordProperty("wrong_of_200", std::to_string(wrong));
  EXPECT_GT(wrong, 0u);
}

TEST(HostMissingWaitTest, AProgramWithoutOneIsRight) {
  for (uint64_t seed = 1; seed <= seeds; ++seed) EXPECT_TRUE(read_elsewhere(seed, true)) << seed;
}

}  // namespace
}  // namespace outback::host
