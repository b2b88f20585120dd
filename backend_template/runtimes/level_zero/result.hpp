// What the driver answers, as the exceptions of a runtime.
#pragma once

#include <level_zero/ze_api.h>

#include <string>

namespace outback::level_zero {

/// "ZE_RESULT_ERROR_DEVICE_LOST (0x70000001)"; for a number that nobody knows, the number.
std::string result_text(ze_result_t result);

/// Throws what `result` of `call` means: outback::device_lost, out_of_memory (of the device, of the
/// host, or a size that the driver cannot serve), unsupported, invalid_argument, or
/// outback::runtime_error. The text is "<call>: <result_text>".
[[noreturn]] void throw_result(ze_result_t result, const char* call);

/// Throws unless `result` is a success. `call` is the entry point's name.
inline void check(ze_result_t result, const char* call) {
  if (result != ZE_RESULT_SUCCESS) [[unlikely]]
    throw_result(result, call);
}

/// For calls whose answer may be "not yet": whether it is "done". Throws like `check`.
inline bool check_ready(ze_result_t result, const char* call) {
  if (result == ZE_RESULT_NOT_READY) return false;
  check(result, call);
  return true;
}

}  // namespace outback::level_zero
