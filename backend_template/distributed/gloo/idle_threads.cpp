#include "backend_template/distributed/gloo/idle_threads.h"

#include <c10/util/thread_name.h>

#include <algorithm>
#include <array>
#include <exception>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <thread>

namespace outback::distributed {
namespace {

constexpr std::string_view kGlooThread = "pt_gloo_runloop";
constexpr std::array<std::string_view, 3> kNames{kGlooThread, kIssuerThread, kWaiterThread};
constexpr std::chrono::milliseconds kBetweenLooks{1};

/// What /proc has of a thread: "Name", "State", how often it gave up its core, and more.
std::map<std::string, std::string, std::less<>> facts_of(const std::filesystem::path& thread) {
  std::map<std::string, std::string, std::less<>> facts;
  std::ifstream file(thread / "status");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(":\t");
    if (colon != std::string::npos) facts[line.substr(0, colon)] = line.substr(colon + 2);
  }
  return facts;
}

/// Returns the threads that matter, each with how often it has gone to sleep. A thread that does
/// not sleep now has no number.
std::map<std::string, std::string> sleeps_of_threads() {
  std::map<std::string, std::string> sleeps;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    const auto facts = facts_of(thread.path());
    const auto name = facts.find("Name");
    if (name == facts.end() || std::ranges::find(kNames, name->second) == kNames.end()) continue;
    const auto state = facts.find("State");
    const auto count = facts.find("voluntary_ctxt_switches");
    const bool is_asleep =
        state != facts.end() && state->second.starts_with('S') && count != facts.end();
    sleeps[thread.path().filename()] = is_asleep ? count->second : "";
  }
  return sleeps;
}

}  // namespace

bool is_gloos_thread() {
  return c10::getThreadName() == kGlooThread;
}

// A thread sleeps for a moment also on its way to the end of its work, for a lock say. One that
// sleeps at two looks and has not been awake between them waits for its next work, or for another
// process.
void await_idle_threads(std::chrono::steady_clock::time_point deadline) noexcept {
  try {
    auto before = sleeps_of_threads();
    while (!before.empty() && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(kBetweenLooks);
      auto now = sleeps_of_threads();
      const bool all_sleep =
          std::ranges::none_of(now, [](const auto& each) { return each.second.empty(); });
      if (all_sleep && now == before) return;
      before = std::move(now);
    }
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch)
    // There is no /proc, or no memory to read it.
  }
}

}  // namespace outback::distributed
