#include "tests/runtime/suite/expectations.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>

namespace outback::suite {
namespace {

constexpr std::string_view spaces = " \t\r";

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(spaces);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(spaces) - first + 1);
}

const char* word(outcome o) {
  return o == outcome::failed ? "fails" : "unsupported";
}

// `line` has something in it beside a comment.
expectation parsed(std::string_view line, const std::string& where) {
  const auto bad = [&](const std::string& why) {
    return std::runtime_error(where + ": " + why +
                              ". A line is: unsupported|fails <pattern of tests>  # <reason>");
  };
  const std::size_t hash = line.find('#');
  std::istringstream words{std::string(line.substr(0, hash))};
  std::string kind, pattern, more;
  words >> kind >> pattern >> more;
  if (kind != "unsupported" && kind != "fails") throw bad("what is \"" + kind + "\"?");
  if (pattern.empty()) throw bad("the pattern is missing");
  if (!more.empty()) throw bad("one pattern to a line, and not \"" + more + "\" too");
  if (pattern.find('.') == std::string::npos)
    throw bad("\"" + pattern + "\" has no dot, and every test is called Suite.Name");
  const std::string_view reason =
      hash == std::string_view::npos ? std::string_view() : trimmed(line.substr(hash + 1));
  if (reason.empty()) throw bad("the reason is missing");
  return {kind == "fails" ? outcome::failed : outcome::unsupported, pattern, std::string(reason),
          where};
}

}  // namespace

bool matches(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern[0] == '*') {
    return matches(pattern.substr(1), text) || (!text.empty() && matches(pattern, text.substr(1)));
  }
  return !text.empty() && (pattern[0] == '?' || pattern[0] == text[0]) &&
         matches(pattern.substr(1), text.substr(1));
}

expectations expectations::of_text(std::string_view text, const std::string& name) {
  expectations all;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    const std::string_view line = trimmed(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (line.empty() || line[0] == '#') continue;
    all.lines_.push_back(parsed(line, name + ":" + std::to_string(number)));
  }
  return all;
}

expectations expectations::of_file(const std::string& path) {
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file) throw std::runtime_error(path + ": cannot be read");
  return of_text(text, path);
}

const expectation* expectations::of(std::string_view test) const {
  const auto found = std::find_if(lines_.begin(), lines_.end(), [&](const expectation& line) {
    return matches(line.pattern, test);
  });
  return found == lines_.end() ? nullptr : &*found;
}

std::string expectations::problem(const std::vector<std::string>& tests) const {
  std::string found;
  for (const expectation& line : lines_) {
    const bool is_for_one = std::any_of(tests.begin(), tests.end(), [&](const std::string& test) {
      return matches(line.pattern, test);
    });
    if (!is_for_one) found += line.where + ": there is no test " + line.pattern + "\n";
  }
  for (const std::string& test : tests) {
    const expectation* first = of(test);
    for (const expectation& line : lines_) {
      if (&line == first || !matches(line.pattern, test)) continue;
      found += line.where + ": " + test + " is expected at " + first->where + " already\n";
    }
  }
  if (!found.empty()) found.pop_back();
  return found;
}

std::string contradiction(const expectation& line, std::string_view test, outcome got) {
  if (got == line.want) return "";
  const std::string what = got == outcome::passed        ? "passed"
                           : got == outcome::unsupported ? "is unsupported"
                                                         : "failed";
  const std::string remedy = got == outcome::passed ? "remove the line"
                             : got == outcome::failed
                                 ? "it is not unsupported: remove the line, or say fails"
                                 : "say unsupported";
  return line.where + ": " + std::string(test) + " " + what + ", and the line says " +
         word(line.want) + " (" + line.reason + "): " + remedy;
}

}  // namespace outback::suite
