#include "tests/fakes/level_zero/entry_points.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

#include "tests/fakes/level_zero/fork.hpp"
#include "tests/fakes/level_zero/violations.hpp"
#include "tests/fakes/level_zero/world.hpp"

namespace outback::software_ze {
namespace {

// Filled while the library is loaded, by one thread; only read afterwards.
std::vector<entry_point*>& all() {
  static auto& points = *new std::vector<entry_point*>;
  return points;
}

thread_local const entry_point* current = nullptr;
std::atomic<int> in_progress{0};

template <class Integer>
std::optional<Integer> parse(std::string_view text) {
  const int base = text.starts_with("0x") ? 16 : 10;
  if (base == 16) text.remove_prefix(2);
  Integer number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

entry_point::entry_point(const char* name, in_child child) : name_(name), child_(child) {
  all().push_back(this);
}

ze_result_t entry_point::enter() {
  const uint64_t call = calls_.fetch_add(1, std::memory_order_relaxed) + 1;
  if (forked_since_init() && child_ != in_child::allowed) {
    report_violation(
        "in a process that was forked after the driver was initialised: its threads are not here. "
        "Start children before, or with spawn");
    // Intel's driver waits for ever.
    while (child_ == in_child::waits && the_options().fork_hangs) ::pause();
    return ZE_RESULT_ERROR_DEVICE_LOST;
  }
  if (!may_fail_.load(std::memory_order_acquire)) return ZE_RESULT_SUCCESS;
  const std::lock_guard lock(mutex_);
  for (auto found = faults_.begin(); found != faults_.end(); ++found) {
    if (found->call == 0) return found->result;
    if (found->call == call) {
      const ze_result_t result = found->result;
      faults_.erase(found);
      may_fail_.store(!faults_.empty(), std::memory_order_release);
      return result;
    }
  }
  return ZE_RESULT_SUCCESS;
}

void entry_point::fail(uint32_t nth, ze_result_t result) {
  const std::lock_guard lock(mutex_);
  faults_.push_back({nth == 0 ? 0 : calls() + nth, result});
  may_fail_.store(true, std::memory_order_release);
}

void entry_point::clear_failures() {
  const std::lock_guard lock(mutex_);
  faults_.clear();
  may_fail_.store(false, std::memory_order_release);
}

const std::vector<entry_point*>& entry_points() {
  return all();
}

entry_point* find_entry_point(std::string_view name) {
  const auto found =
      std::find_if(all().begin(), all().end(), [&](auto* point) { return point->name() == name; });
  return found == all().end() ? nullptr : *found;
}

const char* current_entry_point() noexcept {
  return current ? current->name() : "the driver";
}

int calls_in_progress() noexcept {
  return in_progress.load();
}

entered::entered(const entry_point& point) noexcept : before_(std::exchange(current, &point)) {
  if (before_ == nullptr) in_progress.fetch_add(1);
}
entered::~entered() {
  current = before_;
  if (before_ == nullptr) in_progress.fetch_sub(1);
}

void read_faults(std::string_view text) {
  std::vector<std::tuple<entry_point*, uint32_t, uint32_t>> read;
  while (!text.empty()) {
    const std::string_view rule = text.substr(0, text.find(','));
    text.remove_prefix(std::min(rule.size() + 1, text.size()));
    const auto equals = rule.find('=');
    const std::string_view call = rule.substr(0, equals);
    const auto colon = call.find(':');
    const auto result =
        equals == rule.npos ? std::nullopt : parse<uint32_t>(rule.substr(equals + 1));
    const std::string_view which = colon == call.npos ? "1" : call.substr(colon + 1);
    const auto nth = which == "*" ? std::optional<uint32_t>(0) : parse<uint32_t>(which);
    if (!result || !nth || (*nth == 0 && which != "*")) {
      throw std::invalid_argument(
          fmt::format("OUTBACK_ZE_FAULTS: \"{}\": expected name[:nth]=result, nth being 1 or more "
                      "or *, such as "
                      "zeMemAllocDevice:3=0x70000003",
                      rule));
    }
    entry_point* point = find_entry_point(call.substr(0, colon));
    if (!point) {
      throw std::invalid_argument(
          fmt::format("OUTBACK_ZE_FAULTS: \"{}\": there is no entry point of this name",
                      call.substr(0, colon)));
    }
    read.emplace_back(point, nth.value_or(0), result.value_or(0));
  }
  for (const auto& [point, nth, result] : read) point->fail(nth, static_cast<ze_result_t>(result));
}

}  // namespace outback::software_ze
