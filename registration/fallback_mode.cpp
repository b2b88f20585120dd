#include "registration/fallback_mode.h"

#include <c10/util/Exception.h>

#include <array>
#include <cstdlib>
#include <utility>

namespace outback::registration {
namespace {

constexpr std::array<std::pair<fallback_mode, std::string_view>, 3> mode_names{{
    {fallback_mode::allow, "allow"},
    {fallback_mode::warn, "warn"},
    {fallback_mode::error, "error"},
}};

constexpr const char* mode_variable = "OUTBACK_FALLBACK";

}  // namespace

std::string_view name_of(fallback_mode mode) noexcept {
  return mode_names[static_cast<size_t>(mode)].second;
}

fallback_mode read_fallback_mode(std::string_view text, std::string_view what) {
  for (const auto& [mode, name] : mode_names) {
    if (text == name) return mode;
  }
  TORCH_CHECK_VALUE(false, what, ": expected \"allow\", \"warn\" or \"error\", got \"", text, "\"");
}

fallback_mode initial_fallback_mode(const backend_options& options) {
  const char* const wanted = std::getenv(mode_variable);
  const bool is_set = wanted != nullptr && *wanted != '\0';
  return is_set ? read_fallback_mode(wanted, mode_variable) : options.fallback;
}

}  // namespace outback::registration
