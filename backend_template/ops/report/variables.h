// The variables for an operator report of the whole process: OUTBACK_OPERATORS, and
// OUTBACK_OPERATORS_STACK to record places in the program.
#pragma once

#include <optional>
#include <string>

namespace outback::ops {

/// Reads both variables. Throws c10::ValueError for a malformed flag. Registration calls it.
void read_report_variables();

/// Returns the file to which the report is written when the process ends, if OUTBACK_OPERATORS asks
/// for one.
const std::optional<std::string>& wanted_report() noexcept;
bool are_places_wanted() noexcept;

}  // namespace outback::ops
