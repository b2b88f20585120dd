// Stream priorities of the host runtime, as the system sees them.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <limits>

#include "backend_template/runtimes/host/host_runtime.hpp"

namespace outback::host {
namespace {

class HostPrioritiesTest : public testing::Test {
 protected:
  // From 19 on nothing can be nicer, so where it is allowed the process is nice at 0 meanwhile.
  HostPrioritiesTest() { setpriority(PRIO_PROCESS, id_t(getpid()), 0); }
  ~HostPrioritiesTest() override { setpriority(PRIO_PROCESS, id_t(getpid()), niceness_before_); }

  int niceness_of(int32_t priority) {
    const outback_stream s = host_.stream_create(0, priority);
    int seen = -100;
    host_.callback_enqueue(
        0, [](void* out) { *static_cast<int*>(out) = getpriority(PRIO_PROCESS, id_t(gettid())); },
        &seen, s);
    host_.stream_sync(0, s);
    host_.stream_destroy(0, s);
    return seen;
  }
  static int process_plus(int more) {
    return std::min(19, getpriority(PRIO_PROCESS, id_t(getpid())) + more);
  }

  const int niceness_before_ = getpriority(PRIO_PROCESS, id_t(getpid()));
  host_runtime host_{{.devices = 1, .memory_size = 1 << 20}};
};

TEST_F(HostPrioritiesTest, AreFromOneToMinusOne) {
  EXPECT_EQ(host_.stream_priorities(0).least, 1);
  EXPECT_EQ(host_.stream_priorities(0).greatest, -1);
}

TEST_F(HostPrioritiesTest, AreTheNiceValuesOfThreads) {
  EXPECT_EQ(niceness_of(-1), process_plus(0));
  EXPECT_EQ(niceness_of(0), process_plus(1));
  EXPECT_EQ(niceness_of(1), process_plus(10));
}

TEST_F(HostPrioritiesTest, AreClamped) {
  EXPECT_EQ(niceness_of(std::numeric_limits<int32_t>::min()), niceness_of(-1));
  EXPECT_EQ(niceness_of(std::numeric_limits<int32_t>::max()), niceness_of(1));
}

TEST_F(HostPrioritiesTest, LeaveTheCallersThreadAlone) {
  const int before = getpriority(PRIO_PROCESS, id_t(gettid()));
  niceness_of(1);
  EXPECT_EQ(getpriority(PRIO_PROCESS, id_t(gettid())), before);
}

}  // namespace
}  // namespace outback::host
