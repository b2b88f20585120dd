// What help() shows of the methods.
#pragma once

#include <string>
#include <string_view>

namespace outback::python {

/// Of `<what>.is_<name>`.
std::string property_doc(std::string_view name, std::string_view what);

/// Of `<what>.<name>(device=None, non_blocking=False)`; `more_arguments` are further lines of its
/// "Args:".
std::string move_doc(std::string_view name, std::string_view what,
                     std::string_view more_arguments = "");

/// Of `Module.<name>(device=None)` and of `PackedSequence.<name>(*args, **kwargs)`.
std::string module_doc(std::string_view name);
std::string packed_sequence_doc(std::string_view name);

}  // namespace outback::python
