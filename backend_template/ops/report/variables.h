// The variables that ask for the operator report of a whole process: OUTBACK_OPERATORS, and
// OUTBACK_OPERATORS_STACK for places in the program.
#pragma once

#include <optional>
#include <string>

namespace outback::ops {

/// Reads them. Throws c10::ValueError for a malformed flag. Registration calls it.
void read_report_variables();

/// The file to write when the process ends, if one is wanted.
const std::optional<std::string>& wanted_report() noexcept;
bool are_places_wanted() noexcept;

}  // namespace outback::ops
