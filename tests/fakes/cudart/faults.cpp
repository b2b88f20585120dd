#include "tests/fakes/cudart/faults.hpp"

#include <cstdlib>

#include "tests/fakes/cudart/settings.hpp"

namespace fake_cuda {
namespace {

bool parse_number(const std::string& text, int& number) {
  char* end = nullptr;
  number = int(std::strtol(text.c_str(), &end, 0));
  return !text.empty() && *end == '\0' && number >= 0;
}

}  // namespace

void faults::add(const std::string& name, int nth, int error) {
  planned_.push_back({.name = name, .remaining = nth, .error = error});
}

bool faults::parse(const std::string& text) {
  for (const std::string& each : split(text)) {
    const auto equal = each.find('=');
    if (equal == std::string::npos) return false;
    std::string name = each.substr(0, equal);
    int nth = 1, error = 0;
    if (!parse_number(each.substr(equal + 1), error)) return false;
    if (const auto colon = name.find(':'); colon != std::string::npos) {
      if (!parse_number(name.substr(colon + 1), nth)) return false;
      name.resize(colon);
    }
    add(name, nth, error);
  }
  return true;
}

std::optional<int> faults::next(std::string_view name) {
  const auto counted = calls_.find(name);
  if (counted == calls_.end()) {
    calls_.emplace(name, 1);
  } else {
    ++counted->second;
  }
  std::optional<int> error;
  for (auto plan = planned_.begin(); plan != planned_.end();) {
    if (plan->name != name) {
      ++plan;
    } else if (plan->remaining == 0) {
      if (!error) error = plan->error;
      ++plan;
    } else if (--plan->remaining == 0) {
      if (!error) error = plan->error;
      plan = planned_.erase(plan);
    } else {
      ++plan;
    }
  }
  return error;
}

uint64_t faults::calls(std::string_view name) const {
  const auto counted = calls_.find(name);
  return counted == calls_.end() ? 0 : counted->second;
}

std::vector<std::string> faults::names() const {
  std::vector<std::string> all;
  for (const plan& each : planned_) all.push_back(each.name);
  return all;
}

}  // namespace fake_cuda
