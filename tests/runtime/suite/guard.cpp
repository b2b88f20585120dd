#include "tests/runtime/suite/guard.hpp"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <mutex>
#include <set>
#include <string_view>
#include <thread>

#include "tests/runtime/suite/options.hpp"
#include "tests/runtime/suite/watched.hpp"

namespace outback::suite {
namespace {

using steady = std::chrono::steady_clock;

struct ending {
  int number;
  const char* name;
};
constexpr ending endings[] = {{SIGSEGV, "SIGSEGV, memory that is not there"},
                              {SIGBUS, "SIGBUS, memory that is not there"},
                              {SIGFPE, "SIGFPE, a division by zero or the like"},
                              {SIGILL, "SIGILL, no instruction"},
                              {SIGABRT, "SIGABRT, an abort() or an exception that nobody caught"},
                              {SIGTERM, "SIGTERM, somebody else ended it"},
                              {SIGINT, "SIGINT, somebody interrupted it"}};

// Read in signal handlers, so without a lock. Names are kept for good.
std::atomic<const char*> doing{nullptr};
static_assert(std::atomic<const char*>::is_always_lock_free);
std::atomic<int64_t> began_ns{0};
std::atomic<bool> ended_well{false};
std::array<struct sigaction, std::size(endings)> handlers_before;

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(steady::now().time_since_epoch())
      .count();
}

// Async-signal-safe.
void put(const char* text) {
  for (std::size_t left = std::strlen(text); left != 0;) {
    const ssize_t size = write(STDERR_FILENO, text, left);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return;
    text += size;
    left -= std::size_t(size);
  }
}

void put_number(uint64_t number) {
  char digits[24];
  char* at = digits + sizeof(digits);
  *--at = '\0';
  do *--at = char('0' + number % 10);
  while ((number /= 10) != 0);
  put(at);
}

void put_subject() {
  const char* name = doing.load();
  put("\nruntime suite: ");
  put(name == nullptr ? "between tests" : name);
  put(": ");
}

void on_signal(int number, siginfo_t* info, void*) {
  const int kept = errno;
  for (std::size_t i = 0; i < std::size(endings); ++i) {
    if (endings[i].number != number) continue;
    tell_watching();
    put_subject();
    put("the process dies of ");
    put(endings[i].name);
    put("\n");
    sigaction(number, &handlers_before[i], nullptr);
  }
  // A fault comes again when the handler returns, and finds who was asked before: a sanitizer, the
  // system. What was sent does not.
  if (info->si_code <= 0 || number == SIGTERM || number == SIGINT) raise(number);
  errno = kept;
}

// Too small a stack is a reason to crash.
void use_another_stack() {
  static char stack[64 << 10];
  stack_t there = {};
  there.ss_sp = stack;
  there.ss_size = sizeof(stack);
  stack_t old = {};
  sigaltstack(nullptr, &old);
  if ((old.ss_flags & SS_DISABLE) != 0) sigaltstack(&there, nullptr);  // else a sanitizer has one
}

void take_signals() {
  use_another_stack();
  for (std::size_t i = 0; i < std::size(endings); ++i) {
    struct sigaction action = {};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(endings[i].number, &action, &handlers_before[i]);
  }
}

void on_exit() {
  if (ended_well) return;
  tell_watching();
  put_subject();
  put("somebody called exit(), so that this test and those after it say nothing\n");
  _exit(1);
}

// Looks at the clock beside the tests.
class watch {
 public:
  explicit watch(bool tells_progress)
      : tells_progress_(tells_progress), thread_([this] { run(); }) {}
  ~watch() {
    {
      const std::lock_guard lock(mutex_);
      stops_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

 private:
  void run() {
    constexpr uint64_t step = 30;  // seconds between two lines of progress
    uint64_t told = 0;
    int64_t of = 0;
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, std::chrono::milliseconds(100), [&] { return stops_; })) {
      const int64_t began = began_ns;
      if (began != of) told = 0;
      of = began;
      if (began == 0) continue;
      const uint64_t seconds = uint64_t(now_ns() - began) / 1'000'000'000;
      const uint64_t limit = given_options().time_limit;
      if (limit != 0 && seconds >= limit) end(limit);
      if (!tells_progress_ || seconds < told + step) continue;
      told = seconds;
      put_subject();
      put_number(seconds);
      put(" s so far\n");
    }
  }

  [[noreturn]] static void end(uint64_t limit) {
    tell_watching();
    put_subject();
    put("no end after ");
    put_number(limit);
    put(" s, which is the limit: --time-limit=SECONDS gives a slow device more, 0 is none\n");
    _exit(1);
  }

  const bool tells_progress_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stops_ = false;
  std::thread thread_;  // the last: it uses the others
};

std::atomic<watch*> watching{nullptr};

}  // namespace

void begin_guarded(const std::string& name) {
  static auto& names = *new std::set<std::string>;
  doing = names.insert(name).first->c_str();
  show_watching(doing);
  began_ns = now_ns();
}

void end_guarded() {
  began_ns = 0;
  doing = nullptr;
  show_watching(nullptr);
}

guard::guard(bool tells_progress) {
  take_signals();
  std::atexit(on_exit);
  watching = new watch(tells_progress);
}

guard::~guard() {
  delete watching.exchange(nullptr);
  ended_well = true;
}

}  // namespace outback::suite
