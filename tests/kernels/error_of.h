// The text of the error that a call raises.
#pragma once

#include <c10/util/Exception.h>

#include <functional>
#include <string>

namespace outback::test {

/// "" where it raises none.
inline std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const c10::Error& error) {
    return error.what_without_backtrace();
  }
  return "";
}

}  // namespace outback::test
