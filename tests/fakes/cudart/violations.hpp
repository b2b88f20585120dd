// What was used wrongly, so far. Guarded by the machine's lock.
#pragma once

#include <deque>
#include <string>

namespace fake_cuda {

class violations {
 public:
  /// 1: the first misuse ends the process; 2: the first refusal does too.
  explicit violations(int strict) : strict_(strict) {}

  void add_misuse(const char* entry_point, const std::string& text);
  void add_refusal(const char* entry_point, const std::string& text);

  // The texts stay for ever: a test may keep what it was answered.
  const std::deque<std::string>& misuses() const { return misuses_; }
  int first_counted() const { return forgotten_; }
  int remembered() const { return int(misuses_.size()) - forgotten_; }
  int refusals() const { return refusals_; }
  const char* last_refusal() const { return last_refusal_; }
  void forget();

 private:
  const int strict_;
  std::deque<std::string> misuses_;
  int forgotten_ = 0;  // of misuses_, from the front
  int refusals_ = 0;
  const char* last_refusal_ = "";  // an interned text
};

}  // namespace fake_cuda
