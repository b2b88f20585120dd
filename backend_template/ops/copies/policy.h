// What happens to an operator that can run on the CPU only, over copies of its tensors.
#pragma once

#include <string>
#include <string_view>

#include "outback/backend.h"

namespace outback::ops {

/// As schemas have them: "aten::add" and "Tensor". Both live as long as the operator.
struct operator_text {
  const char* name = nullptr;
  const char* overload = "";

  /// "aten::add.Tensor", "aten::mm"
  std::string text() const;
};

/// Runs before the copies: says or refuses what the mode says. `fallback_mode::allow` costs one
/// load. Throws c10::NotImplementedError under `fallback_mode::error`.
void before_fallback(const operator_text& op);

/// "allow", "warn", "error"
std::string_view name_of(fallback_mode mode) noexcept;

/// Throws c10::ValueError for any other text; `what` says where it stood.
fallback_mode read_fallback_mode(std::string_view text, std::string_view what);

/// The environment's OUTBACK_FALLBACK, else `otherwise`.
fallback_mode initial_fallback_mode(fallback_mode otherwise);

}  // namespace outback::ops
