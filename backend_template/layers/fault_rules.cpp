// The grammar of OUTBACK_FAULTS: `parse_faults`, and the check that a fault is possible.
#include "backend_template/layers/fault_rules.hpp"

#include <array>
#include <charconv>
#include <cstddef>
#include <string>

#include "backend_template/layers/text.hpp"
#include "outback/runtime_error.hpp"

namespace outback::layers {
namespace {

// What "*" stands for: a fault of all slots may name a device, and cannot be not_ready.
constexpr slot_facts all_slots = {
    .name = "*", .member_name = "*", .may_be_not_ready = false, .names_a_device = true};

// Returns null if there is no such slot. Both names of a slot are accepted.
const slot_facts* slot_of_name(std::string_view name) {
  const slot_facts* found = name == all_slots.name ? &all_slots : nullptr;
  slots::for_each_slot([&]<class Slot>(Slot) {
    if (name == Slot::name || name == Slot::member_name) found = &slot_facts_of<Slot>;
  });
  return found;
}

// The parts of a fault in the text.
enum class part { slot, which, what, device };
// Returns why the fault can never happen, "" if it can. `at` becomes the part that is wrong, so
// that a reader of text can say where.
std::string fault_problem(const fault& given, part& at) {
  const slot_facts* slot = slot_of_name(given.slot);
  at = part::slot;
  if (slot == nullptr) {
    return "expected a slot of outback/runtime.h, such as mem_alloc or streams.sync, or *";
  }
  at = part::which;
  if (given.first == 0) return "expected a call from 1 on";
  at = part::what;
  if (status_name(given.status) == nullptr) return "expected a status of outback/runtime.h";
  if (given.status == OUTBACK_NOT_READY && !slot->may_be_not_ready) {
    return "not_ready is an answer of streams.query, events.query and events.elapsed only";
  }
  if (given.delay.count() < 0 || given.delay > std::chrono::hours(1)) {
    return "expected a delay of up to an hour";
  }
  if (given.status == OUTBACK_DEVICE_LOST && !slot->names_a_device) {
    return given.slot + " names no device that could be lost";
  }
  at = part::device;
  if (given.device != fault::any_device && given.device < 0) return "expected a device from 0 on";
  if (given.device != fault::any_device && !slot->names_a_device) {
    return given.slot + " names no device";
  }
  return {};
}

/// Reads one text from its beginning to its end; a recursive-descent parser. All functions throw
/// invalid_argument with the place of the first mistake.
class reader {
 public:
  explicit reader(std::string_view text) : text_(text) {}

  std::vector<fault> faults() {
    std::vector<fault> all;
    for (;;) {
      while (take(';')) continue;
      if (at_end()) return all;
      all.push_back(one());
      if (!at_end() && !take(';')) fail("expected ; or the end");
    }
  }

 private:
  fault one() {
    fault made;
    places_.fill(place());
    made.slot = take_word("_.*");
    if (made.slot.empty()) fail("expected a slot, such as mem_alloc or streams.sync, or *");
    if (slot_of_name(made.slot) != nullptr && !take(':')) fail("expected : and which calls");
    check(made);  // an unknown slot, before what comes after it is read
    place_of(part::which) = place();
    read_which(made);
    if (!take('=')) fail("expected = and what happens");
    place_of(part::what) = place();
    read_what(made);
    if (take('@')) {
      place_of(part::device) = place();
      const uint64_t number = take_number("a device");
      // Far more than PyTorch can number, which is 127.
      if (number > 32767) fail_at(place_of(part::device), "expected a device");
      made.device = int32_t(number);
    }
    check(made);
    return made;
  }

  void read_which(fault& made) {
    // "*/5" is the fifth call and every fifth after it; "*" is "*/1".
    if (take('*')) {
      made.every = take('/') ? take_number("how many calls apart") : 1;
      made.first = made.every;
      if (made.every == 0) fail_before("expected a number above 0");
      return;
    }
    made.first = take_number("3, 3+, * or */3");
    if (made.first == 0) fail_before("expected a number above 0: the first call is 1");
    made.every = take('+') ? 1 : 0;
  }

  void read_what(fault& made) {
    const std::size_t begin = place();
    const std::string word = take_word("_");
    if (word == "delay") return read_delay(made);
    made.status = status_of_name(word);
    if (made.status <= OUTBACK_OK) {
      fail_at(begin,
              "expected delay(5ms) or a status: invalid_argument, out_of_memory, device_lost, "
              "unsupported, internal or not_ready");
    }
  }

  void read_delay(fault& made) {
    if (!take('(')) fail("expected ( and a time, such as 5ms");
    const std::size_t begin = place();
    const uint64_t number = take_number("a time, such as 5ms");
    const std::size_t unit_at = place();
    const std::string unit = take_word("");
    const uint64_t factor = unit == "ns"   ? 1
                            : unit == "us" ? 1'000
                            : unit == "ms" ? 1'000'000
                            : unit == "s"  ? 1'000'000'000
                                           : 0;
    if (factor == 0) fail_at(unit_at, "expected ns, us, ms or s");
    // The division keeps the product below from overflowing.
    constexpr uint64_t hour = 3'600'000'000'000;
    if (number > hour / factor) fail_at(begin, "expected a delay of up to an hour");
    made.delay = std::chrono::nanoseconds(number * factor);
    if (!take(')')) fail("expected )");
  }

  void check(const fault& made) {
    part at;
    const std::string problem = fault_problem(made, at);
    if (!problem.empty()) fail_at(place_of(at), problem);
  }

  // Where a part of the fault that is being read began.
  std::size_t& place_of(part of) { return places_[std::size_t(of)]; }

  // ---- Characters. Each function skips spaces and tabs before what it reads.

  std::size_t place() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
    return at_;
  }
  bool at_end() { return place() == text_.size(); }
  bool take(char c) {
    if (at_end() || text_[at_] != c) return false;
    last_ = at_++;
    return true;
  }
  std::string take_word(std::string_view more) {
    const std::size_t begin = last_ = place();
    const auto belongs = [&](char c) {
      return (c >= 'a' && c <= 'z') || more.find(c) != std::string_view::npos;
    };
    while (at_ < text_.size() && belongs(text_[at_])) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }
  uint64_t take_number(const char* expected) {
    const std::size_t begin = last_ = place();
    uint64_t number = 0;
    const auto [end, error] =
        std::from_chars(text_.data() + begin, text_.data() + text_.size(), number);
    if (error == std::errc::result_out_of_range) fail("expected a number below 2^64");
    if (error != std::errc()) fail(std::string("expected ") + expected);
    at_ = std::size_t(end - text_.data());
    return number;
  }

  // `fail` blames what comes next, `fail_before` what was read last.
  [[noreturn]] void fail(std::string_view why) { fail_at(place(), why); }
  [[noreturn]] void fail_before(std::string_view why) const { fail_at(last_, why); }
  [[noreturn]] void fail_at(std::size_t where, std::string_view why) const {
    const std::string rest(text_.substr(where));
    throw invalid_argument("faults \"" + std::string(text_) + "\", " +
                           (rest.empty() ? "at the end"
                                         : "character " + std::to_string(where + 1) + " (\"" +
                                               rest.substr(0, rest.find(';')) + "\")") +
                           ": " + std::string(why));
  }

  const std::string_view text_;
  std::size_t at_ = 0;
  std::array<std::size_t, 4> places_ = {};
  std::size_t last_ = 0;  // where the part that was read last began
};

}  // namespace

void check_fault(const fault& given) {
  part at;
  if (const std::string problem = fault_problem(given, at); !problem.empty()) {
    throw invalid_argument("fault of \"" + given.slot + "\": " + problem);
  }
}

const slot_facts* slot_of(const fault& given) {
  const slot_facts* found = slot_of_name(given.slot);
  return found == &all_slots ? nullptr : found;
}

std::vector<fault> parse_faults(std::string_view text) {
  return reader(text).faults();
}

}  // namespace outback::layers
