// A program that uses a host runtime through the layers of its environment, and ends as its
// argument says. check_layers_program.py runs it and reads what it leaves behind.
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/layers/layers_testing.hpp"

namespace {

using outback::invalid_argument;

const outback_runtime* made_table() {
  try {
    return outback::layers::from_environment(outback::layers::host_table(true));
  } catch (const invalid_argument& error) {
    std::fprintf(stderr, "refused: %s\n", error.what());
    std::exit(3);
  }
}

void work(const outback_runtime* t) {
  void* ptr = nullptr;
  char host[64] = {};
  const char pattern = 7;
  t->mem_alloc(t->self, 0, 64, &ptr);
  t->mem_fill(t->self, 0, ptr, 64, &pattern, 1, nullptr);
  t->mem_copy(t->self, host, OUTBACK_HOST, ptr, 0, 64, nullptr);
  t->mem_free(t->self, 0, ptr);
}

// A text that needs every kind of escape.
outback_status strange(void*, int32_t) {
  return outback::detail::fail(OUTBACK_INTERNAL, "\"quoted\" \\ \n\x01 caf\xc3\xa9 \xff");
}

}  // namespace

int main(int, char** argv) {
  const std::string_view how = argv[1];
  if (how == "rights") {
    std::printf("%lu\n", getauxval(AT_SECURE));
    return 0;
  }
  if (how == "strange") {
    outback_runtime wrong = *outback::layers::host_table();
    wrong.device_sync = strange;
    const outback_runtime* t = outback::layers::from_environment(&wrong);
    t->device_sync(t->self, 0);
    return 0;
  }
  static const outback_runtime* t = nullptr;
  // Registered before the layers' own, so it runs after them.
  if (how == "at_exit") std::atexit([] { work(t); });
  t = made_table();
  work(t);
  if (how == "abort" || how == "kill") {
    t->device_sync(t->self, 77);  // a failure is written at once, and what came before
    if (how == "abort") std::abort();
    _exit(9);
  }
  if (how == "threads") {
    std::vector<std::thread> threads;
    threads.reserve(3);
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([] {
        for (int round = 0; round < 500; ++round) work(t);
      });
    }
    for (auto& thread : threads) thread.join();
  }
  if (how == "busy") {
    // One of the threads nearly always holds the lock of the layers that report at exit.
    for (int i = 0; i < 3; ++i) {
      std::thread([] {
        while (true) outback::layers::tells_leaks_at_exit();
      }).detach();
    }
    for (int i = 0; i < 50; ++i) {
      const pid_t child = fork();
      if (child == 0) {
        alarm(60);  // ends the child if it hangs
        std::exit(0);
      }
      int status = -1;
      waitpid(child, &status, 0);
      if (status != 0) _exit(5);
    }
    _exit(0);
  }
  const bool forks = how.starts_with("fork");
  if (how == "leak" || forks) {
    void* ptr = nullptr;
    t->mem_alloc(t->self, 1, 100, &ptr);
  }
  if (forks) {
    const pid_t child = fork();
    if (child == 0) {
      if (how == "fork elsewhere" && chdir("/") != 0) std::exit(4);
      int32_t count = 0;
      t->device_count(t->self, &count);
      std::exit(0);
    }
    waitpid(child, nullptr, 0);
    std::printf("%d\n", int(child));
  }
  return 0;
}
