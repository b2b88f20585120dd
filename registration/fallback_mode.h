// The fallback mode by name: in the environment, and in Python.
#pragma once

#include <string_view>

#include "outback/backend.h"

namespace outback::registration {

/// "allow", "warn", "error"
std::string_view name_of(fallback_mode mode) noexcept;

/// Throws c10::ValueError for any other text; `what` says where it stood.
fallback_mode read_fallback_mode(std::string_view text, std::string_view what);

/// The environment's OUTBACK_FALLBACK, else the option.
fallback_mode initial_fallback_mode(const backend_options& options);

}  // namespace outback::registration
