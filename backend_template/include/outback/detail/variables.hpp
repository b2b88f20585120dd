// Reads environment variables, for the runtimes, the layers, the torch half and the runtime suite.
// All of Outback's C++ reads its variables here, so that all variables follow the same rules.
//
// It is a header without a library and lies beside the contract, because its users share only the
// contract's headers: runtimes and layers see no torch, and a runtime links neither layers nor
// torch half.
//
//   Set        A function returns nullopt, which means the default, if its variable is not set or
//              is empty. (`raw_variable` tells "not set" from "empty": an empty list of devices
//              means no device.)
//   Flags      0 or 1, and nothing else.
//   Numbers    Decimal digits only: no sign, no space, nothing after the digits.
//   Sizes      Bytes: a number above 0, which K, M or G (powers of 1024) may follow.
//   Libraries  The absolute path of a file, or a name without "/" for the dynamic loader. Relative
//              paths are refused, since the working directory must not decide what is loaded.
//   Errors     The functions throw outback::invalid_argument with the variable, its value and the
//              accepted values: "OUTBACK_VALIDATE=yes: expected 0 or 1".
//   Rights     In a program with other rights than its user (setuid, setgid, capabilities) all
//              variables count as not set: the user must not choose what such a program loads,
//              where it writes, or how it fails. secure_getenv implements this rule.
//   Threads    As with getenv, no thread may change the environment at the same time.
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

/// Returns `printable` of the first 400 bytes of `text`, with "..." if there are more. A value may
/// have any length, and a reader must still see the part of the message that follows the value.
inline std::string shown(std::string_view text) {
  constexpr std::size_t most = 400;
  return printable(text.substr(0, most)) + (text.size() > most ? "..." : "");
}

/// Throws outback::invalid_argument with the text "NAME=value: why".
[[noreturn]] inline void refuse_variable(std::string_view name, std::string_view value,
                                         std::string_view why) {
  throw invalid_argument(std::string(name) + "=" + shown(value) + ": " + std::string(why));
}

/// Returns the unchanged value, which may be ""; nullopt if the variable is not set.
inline std::optional<std::string> raw_variable(const char* name) {
  const char* const value = ::secure_getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

/// Returns the value, which is never "".
inline std::optional<std::string> variable(const char* name) {
  std::optional<std::string> value = raw_variable(name);
  if (value && value->empty()) value.reset();
  return value;
}

/// Returns the value of a variable that a driver reads too, such as CUDA_VISIBLE_DEVICES. Uses
/// getenv, as the driver does, so that Outback and the driver always see the same value. Do not use
/// it for a variable that names a file or a library: a program with other rights than its user must
/// not let the user choose such a file.
inline std::optional<std::string> variable_of_driver(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

/// Returns the value of a flag. `expected` replaces "0 or 1" in the message, to explain the two
/// values.
inline std::optional<bool> flag_variable(const char* name, const char* expected = "0 or 1") {
  const std::optional<std::string> value = variable(name);
  if (!value) return std::nullopt;
  if (*value != "0" && *value != "1") {
    refuse_variable(name, *value, "expected " + std::string(expected));
  }
  return *value == "1";
}

/// Returns the number if the whole of `text` is a number, otherwise nullopt. Throws nothing.
inline std::optional<uint64_t> number_in(std::string_view text) {
  uint64_t number = 0;
  const char* const end = text.data() + text.size();
  // NOLINTNEXTLINE(bugprone-suspicious-stringview-data-usage): from_chars gets the end
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stopped == end ? std::optional(number) : std::nullopt;
}

/// Returns the value of a number from `least` to `most`, both included.
inline std::optional<uint64_t> number_variable(
    const char* name, uint64_t least = 0, uint64_t most = std::numeric_limits<uint64_t>::max()) {
  const std::optional<std::string> value = variable(name);
  if (!value) return std::nullopt;
  const std::optional<uint64_t> number = number_in(*value);
  if (!number || *number < least || *number > most) {
    refuse_variable(
        name, *value,
        "expected a number from " + std::to_string(least) + " to " + std::to_string(most));
  }
  return number;
}

/// Returns the value of a size in bytes. "64M" is 64 * 1024 * 1024.
inline std::optional<uint64_t> size_variable(const char* name) {
  const std::optional<std::string> value = variable(name);
  if (!value) return std::nullopt;
  // The position of the letter, modulo 3, plus 1 is the power of 1024 that the letter stands for.
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
  // The shift below must not lose bits.
  if (*number > std::numeric_limits<uint64_t>::max() >> shift) {
    refuse_variable(name, *value, "expected less than 2^64 bytes");
  }
  return *number << shift;
}

/// Returns the index, from 0, of the value in `names`. Refuses a value that is not in `names`.
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
  refuse_variable(name, *value, expected);  // "expected allow, warn or error"
}

/// Returns the path or the name of a library, as dlopen takes it.
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
