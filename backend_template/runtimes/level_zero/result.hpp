// Turns the driver's results (ze_result_t) into texts and into the exceptions of a runtime. "Throws
// like `check`" in a comment of this folder means the functions below.
#pragma once

#include <level_zero/ze_api.h>

#include <cstdint>
#include <vector>

#include "backend_template/runtimes/library_function.hpp"

namespace outback::level_zero {

/// Throws outback::device_lost, or outback::runtime_error with another status, for `result`, which
/// `call` returned. The status is OUTBACK_OUT_OF_MEMORY if memory of the device or host is short,
/// and for a size that the driver cannot serve. The text is for example "<call>:
/// ZE_RESULT_ERROR_DEVICE_LOST (0x70000001)"; if the result has no known name, only the number.
[[noreturn]] void throw_result(ze_result_t result, const char* call);

/// Throws like `throw_result` unless `result` is a success. `call` is the name of the driver's
/// function.
inline void check(ze_result_t result, const char* call) {
  if (result != ZE_RESULT_SUCCESS) [[unlikely]]
    throw_result(result, call);
}

/// Calls a function of the driver, and throws like `check`.
template <class F, class... Arguments>
void call(const library_function<F>& function, Arguments... arguments) {
  check(function(arguments...), function.name);
}
/// Does the same for functions that may return "not ready". Returns false for "not ready", and true
/// for a success.
template <class F, class... Arguments>
bool call_ready(const library_function<F>& function, Arguments... arguments) {
  const ze_result_t result = function(arguments...);
  if (result == ZE_RESULT_NOT_READY) return false;
  check(result, function.name);
  return true;
}

/// Fills `all` with the items that a function of the driver lists. The driver must be called twice,
/// for the count and for the items; `list(count, items)` makes each call. `blank` is the initial
/// value of an item. Returns the last result; if it is not a success, `all` is empty. Does not
/// throw for a failure of the driver.
template <class Item, class List>
ze_result_t list_all(std::vector<Item>& all, const List& list, const Item& blank = {}) {
  uint32_t count = 0;
  ze_result_t result = list(&count, static_cast<Item*>(nullptr));
  if (result == ZE_RESULT_SUCCESS && count != 0) {
    all.assign(count, blank);
    result = list(&count, all.data());
  }
  all.resize(result == ZE_RESULT_SUCCESS ? count : 0);
  return result;
}

}  // namespace outback::level_zero
