// The process's one Level Zero runtime.
#include "backend_template/runtimes/level_zero/level_zero.h"
#include "backend_template/runtimes/level_zero/level_zero_runtime.hpp"

extern "C" const outback_runtime* outback_level_zero_runtime(void) {
  using namespace outback::level_zero;
  // Leaked: tensors, and the driver's threads, may outlive main().
  static level_zero_runtime& instance = []() -> level_zero_runtime& {
    try {
      return *new level_zero_runtime(options_from_environment());
    } catch (const outback::runtime_error& error) {
      return *new level_zero_runtime(refusal{error.what()});
    }
  }();
  return outback::table_of(instance);
}
