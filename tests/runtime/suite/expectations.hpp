// What a runtime is known not to do, as a file: which tests are unsupported on it, and which fail.
//
//   # A comment.
//   unsupported EventTest.*                # the device has no events
//   fails       CopyTest.UnalignedRanges   # driver bug 1234, until release 9
//
// A line is a kind, a pattern of test names as in --gtest_filter (`*` and `?`, one pattern) and a
// reason. `unsupported` is for good: the tests say themselves that they need what there is not, and
// --whole is content with those that are listed. `fails` is for now. Both must be true: a line for
// tests that do better, or for none, is an error, so a file never says less than is known.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace outback::suite {

enum class outcome { passed, unsupported, failed };

struct expectation {
  outcome want;  // unsupported or failed
  std::string pattern;
  std::string reason;
  std::string where;  // "file:line"
};

class expectations {
 public:
  /// None at all.
  expectations() = default;
  /// Throws std::runtime_error, with the file and the line, for what cannot be read or understood.
  static expectations of_file(const std::string& path);
  /// `name` is the file's, for errors.
  static expectations of_text(std::string_view text, const std::string& name);

  /// The line for `test`, "Suite.Name"; null if there is none.
  const expectation* of(std::string_view test) const;

  /// What is wrong with the lines, whatever the outcomes: those that are for none of `tests`, and
  /// tests that two lines are for. "" if nothing is; otherwise a line for each.
  std::string problem(const std::vector<std::string>& tests) const;

 private:
  std::vector<expectation> lines_;
};

/// Why `got` is not what the line says, with the remedy; "" if it is.
std::string contradiction(const expectation& line, std::string_view test, outcome got);

/// Whether `text` is what `pattern` stands for: `*` is any text, `?` any one character.
bool matches(std::string_view pattern, std::string_view text);

}  // namespace outback::suite
