// What a device may be called.
#pragma once

#include <string>

namespace outback::registration {

/// Why `name` cannot be a device's name, with what to do instead; "" when it can.
///
/// torch parses a device string as letters and underscores up to a colon, lowers the name in C++
/// but not in Python, and matches the names of its own devices first. Beside those, the names of
/// taken_names.h are refused, in a program without Python too: a backend has one name everywhere.
/// torch_outback.names.problem() of the command says the same words.
std::string name_problem(const std::string& name);

}  // namespace outback::registration
