// The fallback mode: whether an operator that has no kernel for the device may run on the CPU over
// copies of its tensors. The mode itself is public (outback/backend.h); this is for those who ask.
#pragma once

#include <string>
#include <string_view>

#include "outback/backend.h"

namespace outback::ops {

/// An operator's name as its schema has it: "aten::add" and "Tensor". Borrowed: both texts live as
/// long as the operator's schema.
struct operator_text {
  const char* name = nullptr;
  const char* overload = "";

  /// Returns "aten::add.Tensor", or "aten::mm" for an operator without an overload name.
  std::string text() const;
};

/// To be called before `op` runs over copies. Under fallback_mode::warn it warns once for each
/// operator of the process; under fallback_mode::error it throws c10::NotImplementedError (Python:
/// NotImplementedError). Under fallback_mode::allow it does nothing and costs one load.
/// Thread-safe.
void before_fallback(const operator_text& op);

/// Returns "allow", "warn" or "error", a text that lives as long as the process.
std::string_view name_of(fallback_mode mode) noexcept;

/// Returns the mode that `text` names as above. Throws c10::ValueError (Python: ValueError) for any
/// other text; the message begins with `what`, which says where the text stood.
fallback_mode read_fallback_mode(std::string_view text, std::string_view what);

/// Returns the mode that the environment variable OUTBACK_FALLBACK names, or `otherwise` if it is
/// not set. Throws c10::ValueError if it has another value.
fallback_mode initial_fallback_mode(fallback_mode otherwise);

}  // namespace outback::ops
