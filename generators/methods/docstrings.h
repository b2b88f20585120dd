// The doc strings of the methods that a backend adds, as help() shows them.
#pragma once

#include <string>
#include <string_view>

namespace outback::python {

/// Returns the doc string of the property `is_<name>`. `what` names the object, such as "tensor".
std::string property_doc(std::string_view name, std::string_view what);

/// Returns the doc string of `<name>(device=None, non_blocking=False)`. `more_arguments` are
/// further lines of "Args:". Each line begins with four blanks and ends with a newline.
std::string move_doc(std::string_view name, std::string_view what,
                     std::string_view more_arguments = "");

/// Return the doc strings of `Module.<name>(device=None)` and of
/// `PackedSequence.<name>(*args, **kwargs)`.
std::string module_doc(std::string_view name);
std::string packed_sequence_doc(std::string_view name);

}  // namespace outback::python
