#include "tests/fakes/level_zero/violations.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <vector>

#include "tests/fakes/level_zero/entry_points.hpp"
#include "tests/fakes/level_zero/fork.hpp"
#include "tests/fakes/level_zero/refusal.hpp"

namespace outback::software_ze {
namespace {

constexpr std::size_t most_texts = 1000;

struct record {
  std::atomic<uint64_t> count{0};
  std::atomic<bool> strict{false};
  std::mutex mutex;
  std::vector<std::string> texts;
};

record& the_record() {
  static auto& record_ = *new record;  // leaked: threads may report while the process exits
  return record_;
}

}  // namespace

void report_violation(std::string_view text) {
  record& kept = the_record();
  const std::string whole = fmt::format("{}: {}", current_entry_point(), text);
  const std::string line = fmt::format("outback_ze: violation: {}\n", whole);
  // One write, so that lines of processes and threads do not mix.
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
  kept.count.fetch_add(1, std::memory_order_relaxed);
  if (kept.strict.load(std::memory_order_relaxed)) std::abort();
  if (forked_since_init()) return;  // somebody else may have held the mutex when it was copied
  const std::lock_guard lock(kept.mutex);
  if (kept.texts.size() < most_texts) kept.texts.push_back(whole);
}

void refuse_violation(std::string_view text, ze_result_t result) {
  report_violation(text);
  throw refusal{result};
}

void end_process_on_violation(bool strict) {
  the_record().strict.store(strict, std::memory_order_relaxed);
}

uint64_t violation_count() {
  return the_record().count.load(std::memory_order_relaxed);
}

std::string violation_text(std::size_t index) {
  record& kept = the_record();
  const std::lock_guard lock(kept.mutex);
  return index < kept.texts.size() ? kept.texts[index] : std::string();
}

void clear_violations() {
  record& kept = the_record();
  const std::lock_guard lock(kept.mutex);
  kept.texts.clear();
  kept.count.store(0, std::memory_order_relaxed);
}

}  // namespace outback::software_ze
