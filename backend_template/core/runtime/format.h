// fmt::format, with the machinery of fmt compiled once: torch ships fmt's headers and no library,
// and each file that calls fmt itself takes the compiler three seconds longer.
#pragma once

#include <fmt/format.h>

#include <string>

namespace outback::core {

/// fmt::vformat.
std::string formatted(fmt::string_view text, fmt::format_args arguments);

/// fmt::format: `text` is checked when it is compiled. To be called as core::format, since a string
/// among the arguments makes std::format a candidate too.
template <class... Arguments>
std::string format(fmt::format_string<Arguments...> text, const Arguments&... arguments) {
  return formatted(text.get(), fmt::make_format_args(arguments...));
}

}  // namespace outback::core
