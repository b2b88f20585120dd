// The doc strings of the methods that a backend adds: what help() shows.
#pragma once

#include <string>
#include <string_view>

namespace outback::python {

/// Returns the doc string of the property `is_<name>`; `what` is what it belongs to, as "tensor".
std::string property_doc(std::string_view name, std::string_view what);

/// Returns the doc string of `<name>(device=None, non_blocking=False)`. `more_arguments` are
/// further lines of its "Args:", each with four blanks before it and a newline behind it.
std::string move_doc(std::string_view name, std::string_view what,
                     std::string_view more_arguments = "");

/// Return the doc strings of `Module.<name>(device=None)` and of
/// `PackedSequence.<name>(*args, **kwargs)`.
std::string module_doc(std::string_view name);
std::string packed_sequence_doc(std::string_view name);

}  // namespace outback::python
