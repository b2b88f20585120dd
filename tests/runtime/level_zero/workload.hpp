// Something of everything that a Level Zero runtime does, in which any call of the driver may fail.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "outback/runtime.h"

namespace outback::test_level_zero {

/// A slot that failed.
struct failure {
  std::string slot;
  outback_status status;
  std::string text;
};

/// Goes on after a failure, as far as there is something to go on with, and gives back what it
/// took: at the latest in `clean_up`.
class workload {
 public:
  explicit workload(const outback_runtime& t) : t_(t) {}

  /// What failed. `wrong_bytes` counts bytes that were copied without a failure and came out wrong.
  std::vector<failure> run();
  std::size_t wrong_bytes() const { return wrong_bytes_; }

  /// Gives back what could not be given back. What fails now is a leak.
  std::vector<failure> clean_up();

 private:
  void memory_and_copies();
  void streams_and_events();
  void kernels();
  void the_rest();
  bool attempt(const char* slot, outback_status status);
  void give_back();

  const outback_runtime& t_;
  std::vector<failure> failures_;
  std::size_t wrong_bytes_ = 0;
  std::vector<std::pair<int32_t, void*>> memory_;
  std::vector<void*> pinned_;
  std::vector<outback_stream> streams_;
  std::vector<outback_module> modules_;
  std::vector<outback_event> events_;
};

}  // namespace outback::test_level_zero
