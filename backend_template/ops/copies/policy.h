// The fallback mode: whether an operator that has no kernel for the device may run on the CPU over
// copies of its tensors. The mode itself is public (outback/backend.h); this header is for the code
// that checks it.
#pragma once

#include <string>
#include <string_view>

#include "outback/backend.h"

namespace outback::ops {

/// An operator's name from its schema: "aten::add" and "Tensor". Both texts belong to the schema
/// and live as long as the schema.
struct operator_text {
  const char* name = nullptr;
  const char* overload = "";

  /// Returns "aten::add.Tensor", or "aten::mm" for an operator without an overload name.
  std::string text() const;
};

/// Call it before `op` runs over copies. Under fallback_mode::warn it warns once for each operator
/// of the process; under fallback_mode::error it throws c10::NotImplementedError (Python:
/// NotImplementedError). Under fallback_mode::allow it does nothing and costs one load.
/// Thread-safe.
void before_fallback(const operator_text& op);

/// Returns "allow", "warn" or "error", a text that lives as long as the process.
std::string_view name_of(fallback_mode mode) noexcept;

/// Returns the mode whose `name_of` is `text`. Throws c10::ValueError (Python: ValueError) for any
/// other text. The message begins with `what`, which says where the text came from.
fallback_mode read_fallback_mode(std::string_view text, std::string_view what);

/// Returns the mode that the environment variable OUTBACK_FALLBACK names, or `otherwise` if it is
/// not set. Throws c10::ValueError if it has another value.
fallback_mode initial_fallback_mode(fallback_mode otherwise);

}  // namespace outback::ops
