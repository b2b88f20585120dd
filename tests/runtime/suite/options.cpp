#include "tests/runtime/suite/options.hpp"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "outback/detail/variables.hpp"

namespace outback::suite {
namespace {

constexpr uint64_t least_size = 4096;
constexpr const char* size_variable = "OUTBACK_SUITE_SIZE";
constexpr const char* limit_variable = "OUTBACK_SUITE_TIME_LIMIT";

options& stored() {
  static options given;
  return given;
}

std::string read_number(const std::string& name, std::string_view text, uint64_t& number) {
  if (const auto read = outback::detail::number_in(text)) {
    number = *read;
    return "";
  }
  return name + "=" + std::string(text) + ": expected a number";
}

// With K, M or G behind it, or not.
std::string read_size(const std::string& name, std::string_view text, uint64_t& bytes) {
  constexpr std::string_view units = "KMG";
  std::string_view digits = text;
  const std::size_t unit = text.empty() ? units.npos : units.find(text.back());
  if (unit != units.npos) digits.remove_suffix(1);
  uint64_t number = 0;
  const uint64_t factor = unit == units.npos ? 1 : uint64_t{1} << (10 * (unit + 1));
  const bool good = read_number(name, digits, number).empty() && number <= UINT64_MAX / factor &&
                    number * factor >= least_size;
  if (!good) {
    return name + "=" + std::string(text) + ": expected bytes, " + std::to_string(least_size) +
           " or more, such as 65536 or 64K";
  }
  bytes = number * factor;
  return "";
}

// FORMAT:FILE
std::string read_kernels(std::string_view text) {
  const std::size_t colon = text.find(':');
  const auto format = outback::detail::number_in(text.substr(0, colon));
  const bool good = format && *format > 0 && *format <= INT32_MAX && colon + 1 < text.size() &&
                    colon != std::string_view::npos;
  if (!good) {
    return "--kernels=" + std::string(text) +
           ": expected the number of a format, a colon and a file, such as 4:kernels.cubin";
  }
  stored().kernels.emplace_back(int32_t(*format), text.substr(colon + 1));
  return "";
}

std::string read_one(std::string_view argument) {
  const std::size_t equals = argument.find('=');
  const std::string_view name = argument.substr(0, equals);
  const std::string_view value =
      equals == std::string_view::npos ? std::string_view() : argument.substr(equals + 1);
  if (argument == "--whole") {
    stored().whole = true;
    return "";
  }
  if (argument == "--list-unsupported") {
    stored().lists_unsupported = true;
    return "";
  }
  if (name == "--expectations" && !value.empty()) {
    stored().expectations = value;
    return "";
  }
  if (name == "--kernels") return read_kernels(value);
  if (name == "--programs") return read_number("--programs", value, stored().programs);
  if (name == "--seed") return read_number("--seed", value, stored().seed);
  if (name == "--size") return read_size("--size", value, stored().size);
  if (name == "--time-limit") return read_number("--time-limit", value, stored().time_limit);
  return "what is " + std::string(argument) +
         "? There are --whole, --list-unsupported, --expectations=FILE, --programs=N, --seed=N, "
         "--size=BYTES, --time-limit=SECONDS, --kernels=FORMAT:FILE, and those of GoogleTest: "
         "--help";
}

template <class Read>
std::string read_variable(const char* name, uint64_t& number, Read&& read) {
  try {
    const auto value = outback::detail::variable(name);
    return value ? read(name, *value, number) : "";
  } catch (const invalid_argument& error) {
    return error.what();
  }
}

}  // namespace

const options& given_options() {
  return stored();
}

std::string read_options(int argc, char** argv) {
  options& to = stored();
  std::string problem = read_variable("OUTBACK_SUITE_PROGRAMS", to.programs, read_number);
  if (problem.empty()) problem = read_variable("OUTBACK_SUITE_SEED", to.seed, read_number);
  if (problem.empty()) problem = read_variable(size_variable, to.size, read_size);
  if (problem.empty()) problem = read_variable(limit_variable, to.time_limit, read_number);
  for (int i = 1; i < argc && problem.empty(); ++i) problem = read_one(argv[i]);
  if (problem.empty() && to.programs == 0) {
    problem = "--programs=0: expected a number above 0: of no program nothing is tested";
  }
  setenv(size_variable, std::to_string(to.size).c_str(), 1);
  setenv(limit_variable, std::to_string(to.time_limit).c_str(), 1);
  return problem;
}

std::chrono::seconds patience() {
  const uint64_t limit = stored().time_limit;
  const uint64_t an_hour = 3600;
  return std::chrono::seconds(limit == 0 ? an_hour : std::clamp<uint64_t>(limit / 5, 1, an_hour));
}

}  // namespace outback::suite
