// Threads that register the same backend at once: one does, and the others find it done.
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include <latch>
#include <thread>
#include <vector>

#include "backend_template/runtimes/host/host.h"
#include "outback/backend.h"

namespace outback::test {
namespace {

TEST(ConcurrentRegistrationTest, EachCallReturnsWithTheBackendRegistered) {
  constexpr int count = 8;
  std::latch together(count);
  std::vector<std::thread> threads;
  std::vector<int> found(count);
  for (int& it : found) {
    threads.emplace_back([&] {
      together.arrive_and_wait();
      register_backend({.name = "acme", .runtime = outback_host_runtime()});
      it = is_registered();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(found, std::vector<int>(count, 1));
  EXPECT_EQ(at::ones({2}, at::Device("acme")).sum().item<float>(), 2);
}

}  // namespace
}  // namespace outback::test
