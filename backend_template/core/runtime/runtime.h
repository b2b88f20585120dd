// The one runtime of this process, and how a failed slot becomes a torch exception.
#pragma once

#include <c10/macros/Macros.h>

#include <cstdint>
#include <string>

#include "outback/runtime.h"

namespace outback::core {

/// The table in use: whole and of this header's size, absent groups are null. Only after
/// `install_runtime`.
const outback_runtime& runtime() noexcept;

/// The registered device name; "" before registration.
const std::string& backend_name() noexcept;

/// True from `install_runtime` on.
bool is_installed() noexcept;

/// Keeps a copy of `table`, which must have passed `outback::table_problem`, with the layers over
/// it that the environment asks for (outback/layers.hpp). Once per process; throws c10::ValueError,
/// and has changed nothing, where a variable of theirs is malformed.
void install_runtime(const std::string& name, const outback_runtime* table);

/// The table as `install_runtime` made it, and what puts a table over it in its place. False, and
/// nothing has changed, if that was done before. Before the first slot that takes a device.
const outback_runtime& installed_runtime() noexcept;
bool cover_runtime(const outback_runtime* layer) noexcept;

/// Absent, in the arguments of `check`.
inline constexpr int64_t none = -2;

/// Throws what `status` stands for, saying "<name>: <slot>(device <d>, <n> bytes): <status>: <the
/// runtime's words>". In C++ and in Python that is, for
///   OUT_OF_MEMORY     c10::OutOfMemoryError     torch.OutOfMemoryError
///   UNSUPPORTED       c10::NotImplementedError  NotImplementedError
///   INVALID_ARGUMENT  c10::Error                RuntimeError
///   all others        c10::AcceleratorError     torch.AcceleratorError, a RuntimeError whose
///                                               `error_code` is the status
[[noreturn]] void fail(outback_status status, const char* slot, int64_t device, int64_t size);

/// Throws c10::AcceleratorError, OUTBACK_INTERNAL, since the runtime answered what cannot be:
/// "<name>: <slot>(device <d>, <n> bytes): the runtime is wrong: it <what>". `what` as of
/// outback/answer_check.hpp; "" throws nothing.
void blame(const std::string& what, const char* slot, int64_t device = none, int64_t size = none);

/// The same where OUTBACK_OK came with a null handle, which is `output` of the slot.
void check_made(const void* handle, const char* output, const char* slot, int64_t device);

/// The same where OUTBACK_OK came and the output has still the value that no runtime answers.
template <class T>
void check_written(const T& value, const T& unwritten, const char* output, const char* slot,
                   int64_t device = none) {
  if (C10_UNLIKELY(value == unwritten)) {
    blame(std::string("answered ok and wrote nothing to *") + output, slot, device);
  }
}

/// Throws c10::NotImplementedError: `what` is not to be had, since the runtime has not got `group`.
[[noreturn]] void refuse_absent(const char* group, const char* what);

/// The same as `fail` and `blame`, as text, for where nothing may be thrown.
std::string blame_text(const std::string& what, const char* slot, int64_t device, int64_t size);
std::string failure_text(outback_status status, const char* slot, int64_t device, int64_t size);

inline void check(outback_status status, const char* slot, int64_t device = none,
                  int64_t size = none) {
  if (C10_UNLIKELY(status != OUTBACK_OK)) fail(status, slot, device, size);
}

/// For slots that may answer "still running": true when the work is done.
inline bool check_ready(outback_status status, const char* slot, int64_t device = none) {
  if (status == OUTBACK_NOT_READY) return false;
  check(status, slot, device);
  return true;
}

}  // namespace outback::core
