// The rules for a device's name, in C++; generators/cli/torch_outback/names.py has the same rules.
#pragma once

#include <string>

namespace outback::registration {

/// Returns why `name` cannot be a device's name, and the remedy; "" if the name is valid.
/// Thread-safe.
///
/// The rules follow from torch: it parses a device string as letters and underscores up to a colon,
/// lowers the name in C++ but not in Python, and matches the names of its own devices first. The
/// names in taken_names.txt are refused too, even in a program without Python, since a backend has
/// the same name everywhere. torch_outback.names.problem() returns the same text; a test compares
/// the two.
std::string name_problem(const std::string& name);

/// The text of taken_names.txt.
extern const char* const taken_names;

}  // namespace outback::registration
