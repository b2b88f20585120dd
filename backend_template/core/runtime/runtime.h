// The runtime of this process, and the functions that turn a failed slot into a torch exception.
//
// Every file of the torch half that calls a slot includes this header. A call looks like this:
//
//   check(runtime().device_sync(runtime().self, device), "device_sync", device);
//
// Before the call, set each output of the slot to a value that no runtime can return. After the
// call, `check_written` or `check_made` blames a runtime that returned OUTBACK_OK without writing
// the output.
#pragma once

#include <c10/macros/Macros.h>
#include <c10/util/Exception.h>

#include <cstdint>
#include <exception>
#include <limits>
#include <string>
#include <utility>

#include "outback/runtime.h"

namespace outback::core {

/// Returns the table to call, with all layers over it. It has all required slots; a group that the
/// runtime does not have is null. The reference is valid until the process ends. Call it only after
/// `install_runtime`. Thread-safe; costs one atomic load.
///
/// Do not keep the reference across the first device count: `cover_runtime` may replace the table.
const outback_runtime& runtime() noexcept;

/// Returns the registered device name, such as "acme", or "" before registration. The reference is
/// valid until the process ends.
const std::string& backend_name() noexcept;

/// Returns true once `install_runtime` has put the table in place. Thread-safe.
bool is_installed() noexcept;

/// Keeps a copy of `table`, under the layers that the environment asks for (outback/layers.hpp), as
/// this process's runtime.
///
/// `outback::table_problem(table)` must be "". The functions and the `self` of `table` must stay
/// valid until the process ends. Registration calls it once per process, under its lock. Calls no
/// slot. Throws c10::ValueError (ValueError), with nothing changed, if a variable of the layers is
/// malformed.
void install_runtime(const std::string& name, const outback_runtime* table);

/// Returns the table that `install_runtime` made, with the layers of the environment but without
/// the layer of `cover_runtime`. It has all the runtime's devices, under the runtime's own numbers.
const outback_runtime& installed_runtime() noexcept;

/// Makes `runtime()` return `layer`, a table over `installed_runtime()` that lives until the
/// process ends. Returns false, and changes nothing, if an earlier call has set a layer. Only
/// select_visible_devices calls it, before the first slot that takes a device. Thread-safe.
bool cover_runtime(const outback_runtime* layer) noexcept;

/// Pass `none` to `check` and the functions below if a slot has no device or no size. (-1 means
/// OUTBACK_HOST.)
inline constexpr int64_t none = -2;

/// Throws the exception for `status`, a failure that `slot` returned to the calling thread. The
/// text is "<name>: <slot>(device <d>, <n> bytes): <status>: <the runtime's last_error>".
///
///   status            in C++                    in Python
///   OUT_OF_MEMORY     c10::OutOfMemoryError     torch.OutOfMemoryError
///   UNSUPPORTED       c10::NotImplementedError  NotImplementedError
///   INVALID_ARGUMENT  c10::Error                RuntimeError
///   all others        c10::AcceleratorError     torch.AcceleratorError, a RuntimeError whose
///                                               `error_code` is the status
///
/// `slot` is the slot's name with its group, such as "streams.sync". Call no other slot between the
/// failure and this function, since last_error returns the thread's latest text.
[[noreturn]] void fail(outback_status status, const char* slot, int64_t device, int64_t size);

/// Throws what `fail` throws unless `status` is OUTBACK_OK. `size` is in bytes.
inline void check(outback_status status, const char* slot, int64_t device = none,
                  int64_t size = none) {
  if (C10_UNLIKELY(status != OUTBACK_OK)) fail(status, slot, device, size);
}

/// Does what `check` does for slots that may return OUTBACK_NOT_READY, which is no failure: returns
/// true for OUTBACK_OK and false for OUTBACK_NOT_READY.
inline bool check_ready(outback_status status, const char* slot, int64_t device = none) {
  if (status == OUTBACK_NOT_READY) return false;
  check(status, slot, device);
  return true;
}

/// Throws c10::AcceleratorError (torch.AcceleratorError) with the code OUTBACK_INTERNAL, since the
/// runtime broke the contract. The text is
/// "<name>: <slot>(device <d>, <n> bytes): the runtime is wrong: it <what>".
/// The functions of outback/answer_check.hpp return such a `what`. If `what` is "", this function
/// does nothing.
void blame(const std::string& what, const char* slot, int64_t device = none, int64_t size = none);

/// Blames the runtime if `handle` is null although the slot returned OUTBACK_OK. `output` is the
/// name of the slot's parameter that returned the handle.
void check_made(const void* handle, const char* output, const char* slot, int64_t device);

/// Blames the runtime if `value` still equals `unwritten`, the value that the caller gave it before
/// a slot that returned OUTBACK_OK. `output` is the name of the slot's parameter.
template <class T>
void check_written(const T& value, const T& unwritten, const char* output, const char* slot,
                   int64_t device = none) {
  if (C10_UNLIKELY(value == unwritten)) {
    blame(std::string("answered ok and wrote nothing to *") + output, slot, device);
  }
}

/// Returns the number or pointer that a slot writes. `ask` gets the address for it, calls the slot
/// and returns its status. `unwritten` is a value that no runtime can return. Throws what `check`
/// throws, and what `check_written` throws if the slot does not overwrite `unwritten`.
template <class T, class Ask>
T answer_of(Ask&& ask, const char* output, const char* slot, int64_t device = none,
            T unwritten = std::numeric_limits<T>::min()) {
  T answer = unwritten;
  check(std::forward<Ask>(ask)(&answer), slot, device);
  check_written(answer, unwritten, output, slot, device);
  return answer;
}

/// Throws c10::NotImplementedError (NotImplementedError) with a text that says that the runtime
/// does not have `group`, so `what`, a noun phrase for the user, is not available.
[[noreturn]] void refuse_absent(const char* group, const char* what);

/// Returns the text that `blame` throws, for code that must not throw.
std::string blame_text(const std::string& what, const char* slot, int64_t device, int64_t size);

/// Returns the text of the exception that is being handled, without torch's backtrace, for code
/// that must not throw. If the memory for the text cannot be allocated, returns a text that needs
/// no memory. Call it only inside a `catch`.
std::string handled_text() noexcept;

/// `warn` warns with the text of all `parts`. `warn_of` warns with the text of `fail` if `status`
/// is a failure. For code that must not throw: if the memory for the text cannot be allocated, they
/// do not warn.
template <class... Parts>
void warn(const Parts&... parts) noexcept {
  try {
    TORCH_WARN(parts...);
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch)
  }
}
void warn_of(outback_status status, const char* slot, int64_t device, int64_t size = none) noexcept;

}  // namespace outback::core
