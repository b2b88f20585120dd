// A registration in two parts: what others see between them, and a process that forks there.
#include <ATen/ops/ones.h>
#include <c10/core/DeviceType.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend_template/runtimes/host/host.h"
#include "outback/backend.h"
#include "registration/begin.h"

namespace outback::test {
namespace {

// Ends the child, with 0 if all of the backend is there.
[[noreturn]] void use_in_child(const backend_options& options) {
  alarm(60);  // a lock of the other thread would never be free
  registration::finish(options);
  const auto sum = at::ones({2}, at::Device("acme")).sum().item<float>();
  _exit(sum == 2 ? 0 : 1);
}

TEST(BegunRegistrationTest, AForkBeforeTheEndHasAllOperators) {
  const backend_options options{.name = "acme", .runtime = outback_host_runtime()};
  registration::begin(options, registration::operators_by::thread);
  EXPECT_FALSE(is_registered());
  EXPECT_FALSE(c10::is_privateuse1_backend_registered()) << "nobody can name a device yet";

  const pid_t child = fork();
  ASSERT_NE(child, -1);
  if (child == 0) use_in_child(options);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);

  registration::finish(options);
  EXPECT_TRUE(is_registered());
  register_backend(options);
  EXPECT_EQ(at::ones({2}, at::Device("acme")).sum().item<float>(), 2);
}

}  // namespace
}  // namespace outback::test
