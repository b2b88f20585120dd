#include "backend_template/runtimes/host/host_options.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <optional>

#include "outback/runtime_error.hpp"

namespace outback::host {
namespace {

constexpr uint64_t mebibyte = uint64_t{1} << 20;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

[[noreturn]] void refuse(const char* name, const std::string& value, const std::string& expected) {
  throw invalid_argument(std::string(name) + "=" + value + ": expected " + expected);
}

// The number that all of `text` is. Unlike strtoull, takes neither a sign nor a space.
bool parse_number(const std::string& text, uint64_t& number) {
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stopped == end;
}

std::optional<bool> flag(const char* name) {
  const std::string text = variable(name);
  if (text.empty()) return std::nullopt;
  if (text != "0" && text != "1") refuse(name, text, "0 or 1");
  return text == "1";
}

uint64_t unit_of(char suffix) {
  switch (suffix) {
    case 'K':
    case 'k':
      return uint64_t{1} << 10;
    case 'M':
    case 'm':
      return mebibyte;
    case 'G':
    case 'g':
      return uint64_t{1} << 30;
    default:
      return 1;
  }
}

}  // namespace

uint64_t parse_memory_size(const std::string& text) {
  constexpr const char* expected = "a number of bytes above 0, with K, M or G after it or nothing";
  const uint64_t unit = text.empty() ? 1 : unit_of(text.back());
  uint64_t number = 0;
  if (!parse_number(unit == 1 ? text : text.substr(0, text.size() - 1), number) || number == 0) {
    refuse("OUTBACK_HOST_MEMORY", text, expected);
  }
  if (number > std::numeric_limits<uint64_t>::max() / unit) {
    refuse("OUTBACK_HOST_MEMORY", text, "less than 2^64 bytes");
  }
  return number * unit;
}

uint64_t memory_size_of(const host_options& options) {
  if (options.memory_size != 0) return options.memory_size;
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page_size = sysconf(_SC_PAGESIZE);
  const uint64_t physical =
      pages > 0 && page_size > 0 ? uint64_t(pages) * uint64_t(page_size) : 1024 * mebibyte;
  const uint64_t share = physical / 4 * 3 / uint64_t(std::max(options.devices, 1));
  return std::max(share / mebibyte * mebibyte, mebibyte);
}

host_options options_from_environment() {
  host_options options;
  if (const std::string text = variable("OUTBACK_HOST_DEVICES"); !text.empty()) {
    uint64_t number = 0;
    if (!parse_number(text, number) || number > uint64_t{max_devices}) {
      refuse("OUTBACK_HOST_DEVICES", text, "a number from 0 to " + std::to_string(max_devices));
    }
    options.devices = int32_t(number);
  }
  if (const std::string text = variable("OUTBACK_HOST_MEMORY"); !text.empty()) {
    options.memory_size = parse_memory_size(text);
  }
  if (const auto addressable = flag("OUTBACK_HOST_ADDRESSABLE")) {
    options.host_addressable = options.addresses_host = *addressable;
  }
  if (flag("OUTBACK_HOST_PROTECTED").value_or(false)) {
    options.protected_memory = true;
    options.host_addressable = options.addresses_host = false;
  }
  if (const std::string text = variable("OUTBACK_HOST_ADVERSARIAL"); !text.empty()) {
    if (!parse_number(text, options.adversarial)) {
      refuse("OUTBACK_HOST_ADVERSARIAL", text, "a number from 0 to 2^64 - 1");
    }
  }
  return options;
}

}  // namespace outback::host
