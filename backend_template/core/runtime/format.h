// core::format does what fmt::format does, but its implementation is compiled only once, in
// format.cpp. Torch ships fmt's headers without its library, so a file that calls fmt::format
// itself takes about three seconds longer to compile. The torch half builds the texts of its errors
// with this function.
#pragma once

#include <fmt/format.h>

#include <string>

namespace outback::core {

/// Calls fmt::vformat. Use `format` below, which packs the arguments.
std::string formatted(fmt::string_view text, fmt::format_args arguments);

/// Returns `text` with the arguments in place of its {}, as fmt::format does. The compiler checks
/// `text` against the types of the arguments.
///
/// Always write core::format: an unqualified call with a std::string among its arguments also finds
/// std::format, and the two compete.
template <class... Arguments>
std::string format(fmt::format_string<Arguments...> text, const Arguments&... arguments) {
  return formatted(text.get(), fmt::make_format_args(arguments...));
}

}  // namespace outback::core
