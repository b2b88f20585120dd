#include "tests/fakes/cudart/ptx.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <string>

#include "tests/fakes/cudart/errors.hpp"

namespace fake_cuda {
namespace {

[[noreturn]] void refuse(std::string_view why) {
  throw refusal(cudaErrorInvalidPtx, fmt::format("fake cuda: ptx input; fatal: {}", why));
}

// Words and signs of a text, without its comments.
class tokens {
 public:
  explicit tokens(std::string_view text) : rest_(text) {}

  // Empty at the end.
  std::string_view next() {
    skip();
    std::size_t size = std::min<std::size_t>(1, rest_.size());
    while (is_word(rest_.substr(0, 1)) && is_word(rest_.substr(size, 1))) ++size;
    const std::string_view found = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return found;
  }
  // Goes behind the next `word`; false where there is none.
  bool find(std::string_view word) {
    for (std::string_view each = next(); !each.empty(); each = next()) {
      if (each == word) return true;
    }
    return false;
  }
  std::size_t number() {
    const std::string_view digits = next();
    std::size_t value = 0;
    const auto [end, error] = std::from_chars(digits.begin(), digits.end(), value);
    if (error != std::errc() || end != digits.end()) refuse(fmt::format("{}: no number", digits));
    return value;
  }

 private:
  static bool is_word(std::string_view sign) {
    if (sign.empty()) return false;
    const auto c = static_cast<unsigned char>(sign[0]);
    return std::isalnum(c) != 0 || c == '_' || c == '.' || c == '$' || c == '%';
  }
  void skip_behind(std::string_view end) {
    const std::size_t at = rest_.find(end);
    rest_.remove_prefix(at == std::string_view::npos ? rest_.size() : at + end.size());
  }
  void skip() {
    for (;;) {
      const std::size_t begin = rest_.find_first_not_of(" \t\r\n");
      rest_.remove_prefix(std::min(begin, rest_.size()));
      if (rest_.starts_with("//")) {
        skip_behind("\n");
      } else if (rest_.starts_with("/*")) {
        skip_behind("*/");
      } else {
        return;
      }
    }
  }

  std::string_view rest_;
};

// ".u64" has 8 bytes.
std::size_t size_of_type(std::string_view type) {
  const std::size_t digits = type.find_first_of("0123456789");
  std::size_t bits = 0;
  if (digits != std::string_view::npos) {
    std::from_chars(type.data() + digits, type.data() + type.size(), bits);
  }
  if (bits == 0 || bits % 8 != 0) refuse(fmt::format("{}: no type of a parameter", type));
  return bits / 8;
}

// ".param .align 8 .b8 name[24]", behind ".param", up to the sign that ends it, which it answers.
std::string_view read_parameter(tokens& from, std::size_t& end, std::vector<parameter>& to) {
  std::size_t size = 0, alignment = 0;
  std::string_view each = from.next();
  for (; each != "," && each != ")"; each = from.next()) {
    if (each.empty()) refuse("the end is missing");
    if (each == ".align") {
      // Of the memory that a pointer names, where the size is known already.
      const std::size_t given = from.number();
      if (size == 0) alignment = given;
    } else if (each == "[") {
      size *= from.number();
    } else if (each[0] == '.' && size == 0) {
      size = size_of_type(each);
      if (alignment == 0) alignment = size;
    }
  }
  if (size == 0) refuse("a parameter without a type");
  end = (end + alignment - 1) / alignment * alignment;
  to.push_back({.offset = end, .size = size});
  end += size;
  return each;
}

std::vector<parameter> read_parameters(tokens& from) {
  std::vector<parameter> all;
  std::size_t end = 0;
  if (from.next() != "(") return all;  // a kernel may have no list
  for (;;) {
    const std::string_view begin = from.next();
    if (begin == ")") return all;
    if (begin != ".param") refuse(fmt::format("{}: expected .param", begin));
    if (read_parameter(from, end, all) == ")") return all;
  }
}

}  // namespace

parameter_table parameters_of_ptx(std::string_view text) {
  tokens all(text);
  if (all.next() != ".version") refuse("Missing .version directive at start of file");
  parameter_table made;
  while (all.find(".entry")) {
    const std::string_view name = all.next();
    if (name.empty()) refuse("the end is missing");
    made.emplace(name, read_parameters(all));
  }
  return made;
}

}  // namespace fake_cuda
