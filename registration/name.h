// What a device may be called.
#pragma once

#include <string>

namespace outback::registration {

/// Why `name` cannot be a device's name, with what to do instead; "" when it can.
///
/// torch parses a device string as letters and underscores up to a colon, lowers the name in C++
/// but not in Python, and matches the names of its own devices first.
std::string name_problem(const std::string& name);

}  // namespace outback::registration
