// The one reader of the environment, for the runtimes, the layers, the torch half and the suite.
//
// It lies beside the contract and is nothing but a header, since the contract's headers are all
// that these have in common: runtimes and layers see no torch, and a runtime links none of the
// others.
//
//   Set        A variable that is not set, or empty, is the default. (A list of devices is none
//              where it is empty: who reads one takes `raw_variable`.)
//   Flags      0 or 1, and nothing else.
//   Numbers    Decimal digits alone: no sign, no blank, nothing after them.
//   Sizes      The same, above 0, with K, M or G (powers of 1024) after it or nothing.
//   Libraries  The absolute path of a file, or a name without "/" for the dynamic loader. What lies
//              in the working directory is nobody's choice.
//   Errors     outback::invalid_argument with the variable, its value and what is accepted:
//              "OUTBACK_VALIDATE=yes: expected 0 or 1".
//   Rights     In a program that has other rights than its user (setuid, setgid, capabilities) none
//              of these is set, for secure_getenv says so: its user may not choose what it loads,
//              where it writes, or how it fails.
//   Threads    As getenv: nobody may change the environment meanwhile.
#pragma once

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "outback/detail/utf8.hpp"
#include "outback/runtime_error.hpp"

namespace outback::detail {

/// `text` in one line, and UTF-8 whatever it was: Python makes no exception of other bytes.
inline std::string printable(std::string_view text) {
  constexpr char digits[] = "0123456789abcdef";
  std::string out;
  while (!text.empty()) {
    const std::string_view rest = text;
    const uint32_t c = take_character(text);
    const std::string_view taken = rest.substr(0, rest.size() - text.size());
    if (c >= 0x20 && c != 0x7f && (c != no_character || taken.size() > 1)) {
      out += taken;
    } else {
      const auto byte = static_cast<unsigned char>(taken.front());
      out += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
    }
  }
  return out;
}

/// The same of its beginning: a value may be of any length, and what comes after it says what is
/// wrong.
inline std::string shown(std::string_view text) {
  constexpr std::size_t most = 400;
  return printable(text.substr(0, most)) + (text.size() > most ? "..." : "");
}

/// Throws outback::invalid_argument: "NAME=value: why".
[[noreturn]] inline void refuse_variable(std::string_view name, std::string_view value,
                                         std::string_view why) {
  throw invalid_argument(std::string(name) + "=" + shown(value) + ": " + std::string(why));
}

/// The value as it is, which may be "".
inline std::optional<std::string> raw_variable(const char* name) {
  const char* const value = ::secure_getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

/// The value, which is not "".
inline std::optional<std::string> variable(const char* name) {
  std::optional<std::string> value = raw_variable(name);
  if (value && value->empty()) value.reset();
  return value;
}

/// The value of a variable that a driver reads too, as the driver finds it: both have to mean the
/// same. It names no file.
inline std::optional<std::string> variable_of_driver(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

inline std::optional<bool> flag_variable(const char* name, const char* expected = "0 or 1") {
  const std::optional<std::string> value = variable(name);
  if (!value) return std::nullopt;
  if (*value != "0" && *value != "1") {
    refuse_variable(name, *value, "expected " + std::string(expected));
  }
  return *value == "1";
}

/// The number that all of `text` is.
inline std::optional<uint64_t> number_in(std::string_view text) {
  uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stopped == end ? std::optional(number) : std::nullopt;
}

inline std::optional<uint64_t> number_variable(
    const char* name, uint64_t least = 0, uint64_t most = std::numeric_limits<uint64_t>::max()) {
  const std::optional<std::string> value = variable(name);
  if (!value) return std::nullopt;
  const std::optional<uint64_t> number = number_in(*value);
  if (!number || *number < least || *number > most) {
    refuse_variable(name, *value,
                    "expected a number from " + std::to_string(least) + " to " +
                        std::to_string(most));
  }
  return number;
}

/// A number of bytes.
inline std::optional<uint64_t> size_variable(const char* name) {
  const std::optional<std::string> value = variable(name);
  if (!value) return std::nullopt;
  constexpr std::string_view letters = "KMGkmg";
  const std::size_t letter = letters.find(value->back());
  const bool has_unit = letter != std::string_view::npos;
  const unsigned shift = has_unit ? 10 * (unsigned(letter) % 3 + 1) : 0;
  const std::optional<uint64_t> number =
      number_in(std::string_view(*value).substr(0, value->size() - (has_unit ? 1 : 0)));
  if (!number || *number == 0) {
    refuse_variable(name, *value,
                    "expected a number of bytes above 0, with K, M or G after it or nothing");
  }
  if (*number > std::numeric_limits<uint64_t>::max() >> shift) {
    refuse_variable(name, *value, "expected less than 2^64 bytes");
  }
  return *number << shift;
}

/// Which of `names` the value is: its place, from 0.
inline std::optional<std::size_t> choice_variable(const char* name,
                                                  std::initializer_list<std::string_view> names) {
  const std::optional<std::string> value = variable(name);
  if (!value) return std::nullopt;
  std::string expected;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string_view each = names.begin()[i];
    if (*value == each) return i;
    expected += i == 0 ? "expected " : i + 1 == names.size() ? " or " : ", ";
    expected += each;
  }
  refuse_variable(name, *value, expected);
}

/// What dlopen may be given.
inline std::optional<std::string> library_variable(const char* name) {
  std::optional<std::string> value = variable(name);
  if (value && value->front() != '/' && value->find('/') != std::string::npos) {
    refuse_variable(name, *value,
                    "expected a library's absolute path, or its name without \"/\" for the "
                    "dynamic loader");
  }
  return value;
}

}  // namespace outback::detail
