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

/// Keeps a copy of `table`, which must have passed `outback::table_problem`, with the layers over
/// it that the environment asks for (outback/layers.hpp). Once per process; throws c10::ValueError,
/// and has changed nothing, where a variable of theirs is malformed.
void install_runtime(const std::string& name, const outback_runtime* table);

/// Absent, in the arguments of `check`.
inline constexpr int64_t none = -2;

/// Throws what `status` stands for: c10::OutOfMemoryError, c10::NotImplementedError or c10::Error,
/// saying
/// "<name>: <slot>(device <d>, <n> bytes): <status>: <the runtime's words>".
[[noreturn]] void fail(outback_status status, const char* slot, int64_t device, int64_t size);

/// The same as text, for where nothing may be thrown.
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
