// The operators that a backend excludes (backend_options::excluded_operators): Outback registers no
// kernel for them; and those that get no portable kernel (OUTBACK_PORTABLE_EXCLUDED). Both the
// check and the registration of kernels use this header.
#pragma once

#include <ATen/core/operator_name.h>

#include <string>
#include <unordered_set>
#include <vector>

namespace outback::ops {

using operator_names = std::unordered_set<c10::OperatorName>;

/// Turns texts such as "aten::mm" or "aten::add.Tensor" (namespace, name and, behind a dot, the
/// overload) into torch's own type. Throws c10::ValueError for the first text that has no "::" or
/// names no operator of this torch; the message names the option and the text. Thread-safe, calls
/// no slot.
operator_names operator_names_of(const std::vector<std::string>& texts);

/// Returns the operators of OUTBACK_PORTABLE_EXCLUDED, such texts with commas between them. Throws
/// c10::ValueError as the function above does.
operator_names portable_excluded();

}  // namespace outback::ops
