#include "tests/fakes/level_zero/launches.hpp"

#include <mutex>
#include <utility>
#include <vector>

namespace outback::software_ze {
namespace {

constexpr std::size_t most_texts = 1000;

struct record {
  std::mutex mutex;
  uint64_t count = 0;
  std::vector<std::string> texts;
};

record& the_record() {
  static auto& record_ = *new record;  // leaked: queues may work while the process exits
  return record_;
}

}  // namespace

void record_launch(std::string text) {
  record& kept = the_record();
  const std::lock_guard lock(kept.mutex);
  ++kept.count;
  if (kept.texts.size() < most_texts) kept.texts.push_back(std::move(text));
}

uint64_t launch_count() {
  record& kept = the_record();
  const std::lock_guard lock(kept.mutex);
  return kept.count;
}

std::string launch_text(std::size_t index) {
  record& kept = the_record();
  const std::lock_guard lock(kept.mutex);
  return index < kept.texts.size() ? kept.texts[index] : std::string();
}

}  // namespace outback::software_ze
