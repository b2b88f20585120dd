#include "backend_template/runtimes/level_zero/options.hpp"

#include "outback/detail/variables.hpp"

namespace outback::level_zero {

level_zero_options options_from_environment() {
  using namespace outback::detail;
  level_zero_options options;
  if (auto loader = library_variable("OUTBACK_ZE_LOADER")) options.loader = std::move(*loader);
  options.in_order =
      flag_variable("OUTBACK_ZE_IN_ORDER",
                    "1 (lists keep their order where the driver can) or 0 (barriers do)")
          .value_or(true);
  // Loader and driver read these two themselves, and take every value but 1 for no.
  options.old_flags = variable_of_driver("ZE_ENABLE_VALIDATION_LAYER") == "1";
  options.sysman = variable_of_driver("ZES_ENABLE_SYSMAN") == "1";
  return options;
}

}  // namespace outback::level_zero
