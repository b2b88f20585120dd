#include "tests/fakes/cudart/violations.hpp"

#include <cstdio>
#include <cstdlib>
#include <set>

namespace fake_cuda {

void violations::add_misuse(const char* entry_point, const std::string& text) {
  misuses_.push_back(std::string(entry_point) + ": " + text);
  std::fprintf(stderr, "fake cuda: misuse: %s\n", misuses_.back().c_str());
  if (strict_ >= 1) std::abort();
}

void violations::add_refusal(const char* entry_point, const std::string& text) {
  // One of each text: a test may be refused a million times.
  static auto& texts = *new std::set<std::string>;
  ++refusals_;
  last_refusal_ = texts.insert(std::string(entry_point) + ": " + text).first->c_str();
  if (strict_ < 2) return;
  std::fprintf(stderr, "fake cuda: refused: %s\n", last_refusal_);
  std::abort();
}

void violations::forget() {
  forgotten_ = int(misuses_.size());
  refusals_ = 0;
  last_refusal_ = "";
}

}  // namespace fake_cuda
