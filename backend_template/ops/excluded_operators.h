// The operators that a backend wants to have without any kernel of ours.
#pragma once

#include <ATen/core/operator_name.h>

#include <string>
#include <unordered_set>
#include <vector>

namespace outback::ops {

using operator_names = std::unordered_set<c10::OperatorName>;

/// "aten::add.Tensor" as torch's own type. Throws c10::ValueError for what this torch has no
/// operator of.
c10::OperatorName operator_name_of(const std::string& text);
operator_names operator_names_of(const std::vector<std::string>& texts);

}  // namespace outback::ops
