// Processes that end with work queued, and children of processes that have threads: no hang, no
// crash, an error.
//
// Each scenario runs in a child of this process, which has no threads, and what it calls its child
// in a grandchild.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>

#include "backend_template/runtimes/host/host_runtime.hpp"
#include "tests/runtime/gate.hpp"

namespace outback::host {
namespace {

constexpr std::size_t big = 4 << 20;
constexpr int deadline = 20;  // seconds; then SIGALRM ends a process that hangs

// Whether `scenario` and an ordinary exit() succeed in a forked process within the deadline.
bool in_child(const std::function<bool()>& scenario) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    alarm(deadline);
    std::exit(scenario() ? 0 : 1);  // exit, not _exit: static destructors are part of what may hang
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return false;
  if (WIFSIGNALED(status)) std::fprintf(stderr, "the child died of signal %d\n", WTERMSIG(status));
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// Leaked as `table()`'s is; static, so that a leak checker sees that it is meant.
const outback_runtime& table_of_this_process() {
  static const outback_runtime* table =
      table_of(*new host_runtime({.devices = 1, .memory_size = 64 << 20}));
  return *table;
}

struct process {
  const outback_runtime& t = table_of_this_process();
  outback_stream stream = nullptr;
  void* data = nullptr;

  process() {
    t.streams->create(t.self, 0, 0, &stream);
    t.mem_alloc(t.self, 0, big, &data);
  }
  outback_status fill(std::size_t size) const {
    return t.mem_fill(t.self, 0, data, size, "\1", 1, stream);
  }
  // Leaked: it stays closed when the process ends.
  void stop_stream() const {
    static gate& closed = *new gate;
    closed.close(stream);
  }
  bool refuses(outback_status status) const {
    const std::string text = t.last_error(t.self);
    if (status == OUTBACK_INTERNAL && text.find("fork") != std::string::npos) return true;
    std::fprintf(stderr, "status %d: %s\n", status, text.c_str());
    return false;
  }
};

TEST(HostForkTest, AProcessExitsWithWorkQueued) {
  EXPECT_TRUE(in_child([] {
    const process p;
    p.stop_stream();
    return p.fill(big) == OUTBACK_OK && p.fill(64) == OUTBACK_OK;
  }));
}

TEST(HostForkTest, AProcessExitsWithIdleThreads) {
  EXPECT_TRUE(in_child([] {
    const process p;
    return p.fill(big) == OUTBACK_OK && p.t.device_sync(p.t.self, 0) == OUTBACK_OK;
  }));
}

TEST(HostForkTest, AChildExitsAfterItsParentUsedThreads) {
  EXPECT_TRUE(in_child([] {
    const process p;
    p.fill(big);
    p.t.device_sync(p.t.self, 0);
    return in_child([] { return true; });
  }));
}

TEST(HostForkTest, AChildExitsAfterItsParentQueuedWork) {
  EXPECT_TRUE(in_child([] {
    const process p;
    p.stop_stream();
    p.fill(big);
    return in_child([] { return true; });
  }));
}

TEST(HostForkTest, AChildOfAParentWithoutThreadsUsesTheDevice) {
  EXPECT_TRUE(in_child([] {
    const process p;
    p.fill(64);
    return in_child([&] {
      if (p.fill(big) != OUTBACK_OK) return false;  // starts a thread, the child's own
      if (p.t.streams->sync(p.t.self, 0, p.stream) != OUTBACK_OK) return false;
      return static_cast<const char*>(p.data)[big - 1] == 1;
    });
  }));
}

TEST(HostForkTest, AChildThatTouchesItsParentsStreamGetsAnError) {
  EXPECT_TRUE(in_child([] {
    const process p;
    static outback_event event =
        nullptr;  // static: the grandchild's leak checker sees that it is meant
    p.t.events->create(p.t.self, 0, 0, &event);
    p.stop_stream();
    p.fill(big);
    p.t.events->record(p.t.self, 0, event, p.stream);
    return in_child([&] {
      return p.refuses(p.fill(64)) && p.refuses(p.fill(big)) &&
             p.refuses(p.t.streams->sync(p.t.self, 0, p.stream)) &&
             p.refuses(p.t.device_sync(p.t.self, 0)) &&
             p.refuses(p.t.events->sync(p.t.self, 0, event));
    });
  }));
}

TEST(HostForkTest, AChildsCallbacksAndCapturesOnItsParentsStreamAreRefused) {
  EXPECT_TRUE(in_child([] {
    const process p;
    static int runs = 0;
    p.fill(big);
    p.t.device_sync(p.t.self, 0);
    return in_child([&] {
      return p.refuses(p.t.callbacks->enqueue(
                 p.t.self, 0, [](void*) { ++runs; }, nullptr, p.stream)) &&
             p.refuses(p.t.graphs->begin(p.t.self, 0, p.stream)) && runs == 0;
    });
  }));
}

// Waiting would be for the parent's thread: by an event, or for the launch before.
TEST(HostForkTest, AChildsStreamsDoNotWaitForItsParents) {
  EXPECT_TRUE(in_child([] {
    const process p;
    static outback_event event = nullptr;
    static outback_graph graph = nullptr;
    p.t.events->create(p.t.self, 0, 0, &event);
    p.t.graphs->begin(p.t.self, 0, p.stream);
    p.t.graphs->end(p.t.self, 0, p.stream, &graph);
    p.t.graphs->instantiate(p.t.self, 0, graph);
    p.stop_stream();
    p.t.events->record(p.t.self, 0, event, p.stream);
    p.t.graphs->launch(p.t.self, 0, graph, p.stream);
    return in_child([&] {
      outback_stream own = nullptr;
      p.t.streams->create(p.t.self, 0, 0, &own);
      return p.refuses(p.t.events->wait(p.t.self, 0, event, own)) &&
             p.refuses(p.t.graphs->launch(p.t.self, 0, graph, own)) &&
             p.t.streams->sync(p.t.self, 0, own) == OUTBACK_OK;
    });
  }));
}

TEST(HostForkTest, AChildDestroysWhatItsParentMade) {
  EXPECT_TRUE(in_child([] {
    auto* host = new host_runtime({.devices = 1, .memory_size = 64 << 20});
    const outback_stream stream = host->stream_create(0, 0);
    gate closed;
    closed.close(stream);
    const bool good = in_child([&] {
      delete host;
      return true;
    });
    closed.open();
    delete host;
    return good;
  }));
}

}  // namespace
}  // namespace outback::host
