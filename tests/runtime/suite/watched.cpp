#include "tests/runtime/suite/watched.hpp"

#include <dirent.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace outback::suite {
namespace {

constexpr std::string_view watched_argument = "--outback-watched=";
constexpr int not_ended = -1;

// What both processes see.
struct shared_state {
  std::atomic<pid_t> tests;  // 0 until the process of the tests is there
  std::atomic<int> status;   // or not_ended
  std::atomic<bool> told;
  char doing[256];  // empty between tests
};
static_assert(std::atomic<pid_t>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

shared_state* state = nullptr;

// In a file, so that a program that is run anew finds it. Null where there can be none.
shared_state* state_in(int file) {
  void* const found =
      mmap(nullptr, sizeof(shared_state), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return found == MAP_FAILED ? nullptr : static_cast<shared_state*>(found);
}

bool is_traced() {
  std::ifstream facts("/proc/self/status");
  constexpr std::string_view wanted = "TracerPid:";
  for (std::string line; std::getline(facts, line);) {
    if (line.starts_with(wanted)) return line.find_first_of("123456789") != line.npos;
  }
  return false;
}

// A runtime's static initializers may have made some.
bool has_threads() {
  DIR* const folder = opendir("/proc/self/task");
  if (folder == nullptr) return true;
  int count = 0;
  while (const dirent* entry = readdir(folder)) count += entry->d_name[0] != '.';
  closedir(folder);
  return count > 1;
}

// ---- The process of the tests.

void become_watched(pid_t watching) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != watching) _exit(1);  // it is gone already
}

// The process is another one's fork, and has no threads but this: it may run on from here.
// Otherwise the program is run anew, by whom fork is followed by nothing else.
void run_anew(int file, int argc, char** argv) {
  std::string first = std::string(watched_argument) + std::to_string(file);
  std::vector<char*> arguments = {argv[0], first.data()};
  arguments.insert(arguments.end(), argv + 1, argv + argc);
  arguments.push_back(nullptr);
  execv("/proc/self/exe", arguments.data());
  std::perror("runtime suite: execv");
  _exit(1);
}

// Where this is the program that was run anew.
bool take_argument(int& argc, char** argv) {
  if (argc < 2 || !std::string_view(argv[1]).starts_with(watched_argument)) return false;
  const std::string_view number = std::string_view(argv[1]).substr(watched_argument.size());
  int file = -1;
  std::from_chars(number.data(), number.data() + number.size(), file);
  state = state_in(file);
  close(file);
  std::copy(argv + 2, argv + argc + 1, argv + 1);
  --argc;
  if (state != nullptr) state->tests = getpid();
  return true;
}

// ---- The process that looks on.

std::atomic<pid_t> tests{0};

void pass_on(int number) {
  if (const pid_t process = tests; process > 0) kill(process, number);
}

// What a terminal sends, it sends to both; what is sent to this one is meant for the other.
void pass_signals_on() {
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGQUIT, SIG_IGN);
  for (const int number : {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}) {
    struct sigaction action = {};
    action.sa_handler = pass_on;
    action.sa_flags = SA_RESTART;
    sigaction(number, &action, nullptr);
  }
}

int wait_for(pid_t process) {
  int ending = 0;
  while (waitpid(process, &ending, 0) < 0) {
    if (errno == EINTR) continue;
    std::perror("runtime suite: waitpid");
    std::exit(1);
  }
  tests = 0;
  return ending;
}

void tell(const std::string& what) {
  if (state->told) return;
  state->doing[sizeof(state->doing) - 1] = '\0';
  const bool over = state->status != not_ended;
  const char* const doing = over                      ? "after the tests"
                            : state->doing[0] == '\0' ? "between tests"
                                                      : state->doing;
  std::fprintf(stderr, "\nruntime suite: %s: %s\n", doing, what.c_str());
}

// As the process of the tests did, without a second core file.
[[noreturn]] void die_of(int number) {
  const rlimit none = {};
  setrlimit(RLIMIT_CORE, &none);
  std::signal(number, SIG_DFL);
  raise(number);
  std::_Exit(128 + number);
}

int status_of(int ending) {
  if (WIFSIGNALED(ending)) {
    tell("the process dies of signal " + std::to_string(WTERMSIG(ending)));
    die_of(WTERMSIG(ending));
  }
  const int status = WEXITSTATUS(ending);
  if (state->status == not_ended) {
    tell("the process ended with status " + std::to_string(status) +
         ", by _exit() or as another program, so that this test and those after it say nothing");
    return status == 0 ? 1 : status;
  }
  if (status == state->status) return status;
  tell("the process ended with status " + std::to_string(status) + ", and the tests with " +
       std::to_string(state->status));
  return status == 0 ? state->status.load() : status;
}

}  // namespace

std::optional<int> run_watched(int& argc, char** argv) {
  if (take_argument(argc, argv) || is_traced()) return std::nullopt;
  const int file = memfd_create("runtime suite", 0);
  if (file < 0 || ftruncate(file, sizeof(shared_state)) != 0) return std::nullopt;
  state = state_in(file);
  if (state == nullptr) return std::nullopt;
  state->status = not_ended;
  const pid_t watching = getpid();
  std::fflush(nullptr);
  std::signal(SIGCHLD, SIG_DFL);  // who started this may not have waited for children
  const bool anew = has_threads();
  const pid_t process = fork();
  if (process < 0) {
    std::perror("runtime suite: fork");
    return 1;
  }
  if (process == 0) {
    become_watched(watching);
    if (anew) run_anew(file, argc, argv);
    close(file);
    state->tests = getpid();
    return std::nullopt;
  }
  close(file);
  tests = process;
  pass_signals_on();
  return status_of(wait_for(process));
}

int end_watched(int status) {
  // A process that a slot forked comes here too.
  if (state != nullptr && state->tests == getpid()) state->status = status;
  return status;
}

void show_watching(const char* doing) {
  if (state == nullptr) return;
  std::strncpy(state->doing, doing == nullptr ? "" : doing, sizeof(state->doing) - 1);
}

void tell_watching() {
  if (state != nullptr) state->told = true;
}

}  // namespace outback::suite
