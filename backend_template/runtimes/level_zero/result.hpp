// Turns the driver's results (ze_result_t) into texts and into the exceptions of a runtime. Where a
// comment in this folder says "throws like `check`", it means the functions below.
#pragma once

#include <level_zero/ze_api.h>

#include <cstdint>
#include <vector>

#include "backend_template/runtimes/library_function.hpp"

namespace outback::level_zero {

/// Throws outback::device_lost, or outback::runtime_error with another status, for `result`, which
/// `call` returned. OUTBACK_OUT_OF_MEMORY stands for memory of the device, of the host, and for a
/// size that the driver cannot serve. The text is "<call>: ZE_RESULT_ERROR_DEVICE_LOST
/// (0x70000001)"; of a result without a known name it has just the number.
[[noreturn]] void throw_result(ze_result_t result, const char* call);

/// Throws as `throw_result` unless `result` is a success. `call` is the name of the driver's
/// function.
inline void check(ze_result_t result, const char* call) {
  if (result != ZE_RESULT_SUCCESS) [[unlikely]]
    throw_result(result, call);
}

/// Calls a function of the driver, and throws as `check`.
template <class F, class... Arguments>
void call(const library_function<F>& function, Arguments... arguments) {
  check(function(arguments...), function.name);
}
/// The same for calls that may return "not ready": returns false for that, and true for a success.
template <class F, class... Arguments>
bool call_ready(const library_function<F>& function, Arguments... arguments) {
  const ze_result_t result = function(arguments...);
  if (result == ZE_RESULT_NOT_READY) return false;
  check(result, function.name);
  return true;
}

/// Fills `all` with what a function lists, which has to be called twice: for the count, and for the
/// items. `list(count, items)` calls it; `blank` is what an item is before. Returns the last
/// result; if that is no success, `all` is empty. Does not throw what `check` throws.
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
