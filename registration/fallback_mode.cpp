#include "registration/fallback_mode.h"

#include <c10/util/Exception.h>

#include <array>
#include <utility>

#include "backend_template/core/environment.h"

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
  const auto named = core::from_environment([] {
    return outback::detail::choice_variable(
        mode_variable, {mode_names[0].second, mode_names[1].second, mode_names[2].second});
  });
  return named ? mode_names[*named].first : options.fallback;
}

}  // namespace outback::registration
