// Reads environment variables with torch's exceptions. The readers themselves are in
// outback/detail/variables.hpp, which knows no torch and throws outback::invalid_argument. Include
// this header wherever the torch half reads a variable.
#pragma once

#include <c10/util/Exception.h>

#include <utility>

#include "outback/detail/variables.hpp"

namespace outback::core {

/// Calls `read`, a function that reads variables, and returns its result. If `read` throws
/// outback::invalid_argument for a malformed value, throws c10::ValueError (ValueError) with the
/// same text, such as "OUTBACK_VALIDATE=yes: expected 0 or 1". Other exceptions pass unchanged.
///
/// As with the C library's function, no other thread may change the environment during the call.
template <class Read>
auto from_environment(Read&& read) {
  try {
    return std::forward<Read>(read)();
  } catch (const invalid_argument& error) {
    TORCH_CHECK_VALUE(false, error.what());
  }
}

}  // namespace outback::core
