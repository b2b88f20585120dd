#include "tests/fakes/level_zero/options.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

namespace outback::software_ze {
namespace {

const char* variable(const char* name) {
  const char* value = std::getenv(name);
  return value && *value ? value : nullptr;
}

[[noreturn]] void refuse(const char* name, std::string_view value, std::string_view expected) {
  throw std::invalid_argument(fmt::format("{}={}: expected {}", name, value, expected));
}

std::optional<uint64_t> parse_number(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

template <class Integer>
void read(const char* name, uint64_t least, uint64_t most, Integer& into) {
  const char* value = variable(name);
  if (!value) return;
  const auto number = parse_number(value);
  if (!number || *number < least || *number > most) {
    refuse(name, value, fmt::format("a number from {} to {}", least, most));
  }
  into = static_cast<Integer>(*number);
}

void read(const char* name, bool& into) {
  const char* value = variable(name);
  if (!value) return;
  const std::string_view text = value;
  if (text != "0" && text != "1") refuse(name, text, "0 or 1");
  into = text == "1";
}

void read_bytes(const char* name, uint64_t& into) {
  const char* value = variable(name);
  if (!value) return;
  std::string_view text = value;
  int shift = 0;
  if (const auto unit = std::string_view("KMG").find(text.back()); unit != std::string_view::npos) {
    shift = 10 * (static_cast<int>(unit) + 1);
    text.remove_suffix(1);
  }
  const auto number = parse_number(text);
  if (!number || *number == 0 || *number > (uint64_t{1} << 40 >> shift)) {
    refuse(name, value, "bytes, at most 1024G: a number with K, M, G or nothing after it");
  }
  into = *number << shift;
}

void read_api(uint32_t& into) {
  const char* value = variable("OUTBACK_ZE_API");
  if (!value) return;
  const std::string_view text = value;
  const auto minor = text.starts_with("1.") ? parse_number(text.substr(2)) : std::nullopt;
  if (!minor || *minor > 10) refuse("OUTBACK_ZE_API", text, "1.0 to 1.10");
  into = api_version(1, static_cast<uint32_t>(*minor));
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const auto comma = text.find(',');
    if (comma != 0) parts.push_back(text.substr(0, comma));
    text = comma == std::string_view::npos ? "" : text.substr(comma + 1);
  }
  return parts;
}

// What is no number exposes nothing, as with Intel's driver.
void read_mask(std::optional<std::vector<affinity>>& into) {
  const char* value = variable("ZE_AFFINITY_MASK");
  if (!value) return;
  into.emplace();
  for (const std::string_view part : split(value)) {
    const auto dot = part.find('.');
    const auto device = parse_number(part.substr(0, dot));
    if (!device) continue;
    affinity place{static_cast<uint32_t>(*device), std::nullopt};
    if (dot != std::string_view::npos) {
      const auto tile = parse_number(part.substr(dot + 1));
      if (!tile) continue;
      place.tile = static_cast<uint32_t>(*tile);
    }
    into->push_back(place);
  }
}

void read_hierarchy(const driver_options& options, bool& flat) {
  if (options.api < api_version(1, 7)) {
    flat = false;  // drivers of that time knew cards with sub-devices only
    return;
  }
  const char* value = variable("ZE_FLAT_DEVICE_HIERARCHY");
  if (!value) return;
  const std::string_view text = value;
  if (text != "FLAT" && text != "COMBINED" && text != "COMPOSITE") {
    refuse("ZE_FLAT_DEVICE_HIERARCHY", text, "FLAT, COMBINED or COMPOSITE");
  }
  flat = text != "COMPOSITE";
}

}  // namespace

driver_options options_from_environment() {
  driver_options options;
  read_api(options.api);
  read("OUTBACK_ZE_DEVICES", 0, 64, options.devices);
  read("OUTBACK_ZE_TILES", 1, 8, options.tiles);
  read_bytes("OUTBACK_ZE_MEMORY", options.memory);
  read_bytes("OUTBACK_ZE_MAX_ALLOC", options.max_alloc);
  read_bytes("OUTBACK_ZE_HOST_MEMORY", options.host_memory);
  read("OUTBACK_ZE_TIMER_BITS", 8, 64, options.timer_bits);
  read("OUTBACK_ZE_QUEUES", 1, 64, options.queues);
  read("OUTBACK_ZE_FILL_PATTERN", 1, 4096, options.fill_pattern);
  read("OUTBACK_ZE_COPY_GROUP", options.copy_group);
  read("OUTBACK_ZE_PEER", options.peer);
  read("OUTBACK_ZE_GUARD", options.guard);
  read("OUTBACK_ZE_STRICT", options.strict);
  read("OUTBACK_ZE_MODULE_FLAGS", 0, 7, options.module_flags);
  if (variable("OUTBACK_ZE_ADVERSARIAL")) {
    read("OUTBACK_ZE_ADVERSARIAL", 0, UINT64_MAX, options.adversarial.emplace());
  }
  if (const char* value = variable("OUTBACK_ZE_FORK")) {
    const std::string_view text = value;
    if (text != "error" && text != "hang") refuse("OUTBACK_ZE_FORK", text, "error or hang");
    options.fork_hangs = text == "hang";
  }
  if (const char* value = variable("OUTBACK_ZE_LEAKS"); value && std::string_view(value) != "0") {
    for (const std::string_view kind : split(value)) options.leaks.emplace(kind);
  }
  if (const char* value = variable("OUTBACK_ZE_FAULTS")) options.faults = value;
  if (const char* value = variable("OUTBACK_ZE_EXECUTE")) options.execute = value;
  if (const char* value = variable("ZES_ENABLE_SYSMAN")) {
    options.sysman = std::string_view(value) == "1";
  }
  read_mask(options.mask);
  read_hierarchy(options, options.flat);
  return options;
}

}  // namespace outback::software_ze
