#include "tests/runtime/suite/options.hpp"

#include <string_view>

#include "outback/detail/variables.hpp"

namespace outback::suite {
namespace {

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

std::string read_one(std::string_view argument) {
  const std::size_t equals = argument.find('=');
  const std::string_view name = argument.substr(0, equals);
  const std::string_view value =
      equals == std::string_view::npos ? std::string_view() : argument.substr(equals + 1);
  if (argument == "--whole") {
    stored().whole = true;
    return "";
  }
  if (name == "--expectations" && !value.empty()) {
    stored().expectations = value;
    return "";
  }
  if (name == "--programs") return read_number("--programs", value, stored().programs);
  if (name == "--seed") return read_number("--seed", value, stored().seed);
  return "what is " + std::string(argument) +
         "? There are --whole, --expectations=FILE, --programs=N, --seed=N, and those of "
         "GoogleTest: --help";
}

std::string read_variable(const char* name, uint64_t& number) {
  try {
    number = outback::detail::number_variable(name).value_or(number);
    return "";
  } catch (const invalid_argument& error) {
    return error.what();
  }
}

}  // namespace

const options& given_options() {
  return stored();
}

std::string read_options(int argc, char** argv) {
  std::string problem = read_variable("OUTBACK_SUITE_PROGRAMS", stored().programs);
  if (problem.empty()) problem = read_variable("OUTBACK_SUITE_SEED", stored().seed);
  for (int i = 1; i < argc && problem.empty(); ++i) problem = read_one(argv[i]);
  return problem;
}

}  // namespace outback::suite
