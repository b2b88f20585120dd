// A child that was forked after the drivers were initialised is told so, and nothing hangs.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "tests/runtime/level_zero/own_process.hpp"

namespace outback::test_level_zero {
namespace {

/// Runs `body` in a forked child; whether it answered true.
template <class Body>
bool holds_in_a_child(const Body& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(body() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool refused(outback_status status) {
  if (status == OUTBACK_INTERNAL && last_error().find("(\"spawn\"") != std::string::npos)
    return true;
  std::fprintf(stderr, "status %d: %s\n", status, last_error().c_str());
  return false;
}

bool everything_is_refused() {
  const outback_runtime& t = table();
  int32_t count = -1, number = 0;
  void* ptr = nullptr;
  outback_stream stream = nullptr;
  outback_device_info info = {};
  info.struct_size = sizeof(info);
  outback_module module = nullptr;
  outback_formats formats = {};
  formats.struct_size = sizeof(formats);
  outback_pointer_info pointer = {};
  pointer.struct_size = sizeof(pointer);
  return t.device_count(t.self, &count) == OUTBACK_OK && count == 2 &&
         refused(t.device_sync(t.self, 0)) && refused(t.device_info(t.self, 1, &info)) &&
         refused(t.mem_alloc(t.self, 0, 64, &ptr)) &&
         refused(t.streams->create(t.self, 0, 0, &stream)) &&
         refused(t.streams->sync(t.self, 0, nullptr)) &&
         refused(t.host_memory->alloc(t.self, 64, &ptr)) &&
         refused(t.device_state->select(t.self, 0)) &&
         refused(t.kernels->formats(t.self, 0, &formats)) &&
         refused(t.kernels->module_load(t.self, 0, OUTBACK_FORMAT_SPIRV, &number, 4, &module)) &&
         // Data loaders ask this in children, of memory that is nobody's here.
         t.host_memory->info(t.self, &number, &pointer) == OUTBACK_OK && pointer.pinned == 0;
}

TEST(ForkTest, AChildOfAParentThatWorked) {
  OUTBACK_IN_ITS_OWN_PROCESS(({{"OUTBACK_ZE_FORK", "hang"}}), {
    void* ptr = nullptr;
    must(table().mem_alloc(table().self, 0, 4096, &ptr));
    const unsigned char pattern = 1;
    must(table().mem_fill(table().self, 0, ptr, 4096, &pattern, 1, nullptr));
    EXPECT_TRUE(holds_in_a_child(everything_is_refused));
    must(table().device_sync(table().self, 0));  // the parent goes on
  });
}

// What it started knows nothing of the child.
TEST(ForkTest, AChildOfAParentThatCounted) {
  OUTBACK_IN_ITS_OWN_PROCESS(({{"OUTBACK_ZE_FORK", "hang"}}), {
    EXPECT_EQ(device_count(), 2);
    EXPECT_TRUE(holds_in_a_child(everything_is_refused));
  });
}

TEST(ForkTest, AChildOfAParentThatDidNothing) {
  OUTBACK_IN_ITS_OWN_PROCESS(({}), {
    table();
    EXPECT_TRUE(holds_in_a_child([] {
      void* ptr = nullptr;
      return table().mem_alloc(table().self, 0, 64, &ptr) == OUTBACK_OK &&
             table().device_sync(table().self, 0) == OUTBACK_OK;
    }));
  });
}

}  // namespace
}  // namespace outback::test_level_zero
