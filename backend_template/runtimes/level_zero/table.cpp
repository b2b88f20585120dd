// The C function that returns the table of the process's one Level Zero runtime.
#include "backend_template/runtimes/level_zero/level_zero.h"
#include "backend_template/runtimes/level_zero/level_zero_runtime.hpp"
#include "outback/detail/refused_table.hpp"

extern "C" const outback_runtime* outback_level_zero_runtime(void) {
  using namespace outback::level_zero;
  // Leaked on purpose: tensors, and the driver's threads, may outlive main().
  static level_zero_runtime& instance = []() -> level_zero_runtime& {
    try {
      return *new level_zero_runtime(options_from_environment());
    } catch (const outback::runtime_error& error) {
      // The C function must return a table whatever the environment says. Marking it refused makes
      // a registration fail with the variable's text before any slot is called.
      auto& refused = *new level_zero_runtime(refusal{error.what()});
      outback::detail::refuse_table(outback::table_of(refused), error.what());
      return refused;
    }
  }();
  return outback::table_of(instance);
}
