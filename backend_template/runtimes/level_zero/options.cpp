#include "backend_template/runtimes/level_zero/options.hpp"

#include <cstdlib>

#include "outback/runtime_error.hpp"

namespace outback::level_zero {
namespace {

std::string environment_text(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

level_zero_options options_from_environment() {
  level_zero_options options;
  if (const std::string text = environment_text("OUTBACK_ZE_LOADER"); !text.empty()) {
    options.loader = text;
  }
  const std::string order = environment_text("OUTBACK_ZE_IN_ORDER");
  if (!order.empty() && order != "0" && order != "1") {
    throw invalid_argument("OUTBACK_ZE_IN_ORDER=" + order +
                           ": expected 1 (lists keep their order where the driver can) or 0 "
                           "(barriers do)");
  }
  options.in_order = order != "0";
  options.old_flags = environment_text("ZE_ENABLE_VALIDATION_LAYER") == "1";
  options.sysman = environment_text("ZES_ENABLE_SYSMAN") == "1";
  return options;
}

}  // namespace outback::level_zero
