// The C function that returns the table of the process's one Level Zero runtime.
#include "backend_template/runtimes/level_zero/level_zero.h"
#include "backend_template/runtimes/level_zero/level_zero_runtime.hpp"
#include "backend_template/runtimes/refused_runtime.hpp"

extern "C" const outback_runtime* outback_level_zero_runtime(void) {
  using namespace outback::level_zero;
  // Leaked on purpose: tensors, and the driver's threads, may outlive main().
  static const outback_runtime* const table =
      outback::table_or_refusal([] { return new level_zero_runtime(options_from_environment()); });
  return table;
}
