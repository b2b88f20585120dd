// Children of a process that has used the runtime: an error that says what to do, and no hang.
//
// Each scenario runs in a child of this process, which itself starts nothing.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

#include "backend_template/runtimes/cuda/cuda.h"
#include "tests/runtime/cuda/fake_choice.hpp"

namespace {

constexpr int deadline = 60;  // seconds; then SIGALRM ends a process that hangs

bool in_child(const std::function<bool()>& scenario) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    alarm(deadline);
    const bool succeeded = scenario();
    std::fflush(nullptr);
    _exit(succeeded ? 0 : 1);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return false;
  if (WIFSIGNALED(status)) std::fprintf(stderr, "the child died of signal %d\n", WTERMSIG(status));
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

const outback_runtime& table() {
  outback::cuda::choose_fake_libraries();
  return *outback_cuda_runtime();
}

int32_t count() {
  int32_t devices = -1;
  return table().device_count(table().self, &devices) == OUTBACK_OK ? devices : -1;
}

bool works() {
  void* ptr = nullptr;
  const outback_runtime& t = table();
  if (t.mem_alloc(t.self, 0, 64, &ptr) == OUTBACK_OK && t.mem_free(t.self, 0, ptr) == OUTBACK_OK) {
    return true;
  }
  std::fprintf(stderr, "%s\n", t.last_error(t.self));
  return false;
}

bool refused(outback_status status) {
  const std::string text = table().last_error(table().self);
  if (status == OUTBACK_INTERNAL && text.find("spawn") != std::string::npos) return true;
  std::fprintf(stderr, "status %d: %s\n", status, text.c_str());
  return false;
}

TEST(CudaForkTest, CountingLeavesTheChildFree) {
  EXPECT_TRUE(in_child([] { return count() == 3 && in_child(works) && works(); }));
}

TEST(CudaForkTest, AChildOfOneThatUsedADeviceIsTold) {
  EXPECT_TRUE(in_child([] {
    return works() && in_child([] {
             const outback_runtime& t = table();
             void* ptr = nullptr;
             outback_device_info info = {};
             info.struct_size = sizeof(info);
             return refused(t.mem_alloc(t.self, 0, 64, &ptr)) &&
                    refused(t.device_sync(t.self, 0)) && refused(t.device_info(t.self, 0, &info)) &&
                    refused(t.host_memory->alloc(t.self, 64, &ptr)) && count() == 3;
           }) &&
           works();
  }));
}

// A data loader's worker asks about ordinary memory, and must be able to.
TEST(CudaForkTest, AChildMayAskAboutPointers) {
  EXPECT_TRUE(in_child([] {
    const outback_runtime& t = table();
    void* pinned = nullptr;
    if (t.host_memory->alloc(t.self, 64, &pinned) != OUTBACK_OK) return false;
    return in_child([&] {
      outback_pointer_info info = {};
      info.struct_size = sizeof(info);
      info.pinned = -1;
      return t.host_memory->info(t.self, pinned, &info) == OUTBACK_OK && info.pinned == 0 &&
             info.device == OUTBACK_HOST;
    });
  }));
}

}  // namespace
