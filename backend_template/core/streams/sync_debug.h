// Finds the calls that make the host wait for a device: torch.<name>.set_sync_debug_mode, with the
// meaning of torch.cuda's. The operations that make the host wait, such as item(), a copy to
// pageable memory and Stream.synchronize(), call `note_synchronizing` first.
#pragma once

#include <c10/macros/Macros.h>

#include <atomic>
#include <cstdint>

namespace outback::core {

/// The numbers are the same as in torch.cuda.set_sync_debug_mode. `warn` warns at each call that
/// makes the host wait, and `error` makes that call fail before it waits.
enum class sync_debug_mode : uint8_t { off = 0, warn = 1, error = 2 };

namespace detail {
// Relaxed loads and stores: a thread may see a new mode a moment later.
inline constinit std::atomic<sync_debug_mode> sync_debug_mode_now{sync_debug_mode::off};
// The slow path of `note_synchronizing`. `mode` is the mode that it has read, `warn` or `error`;
// another thread may have set another mode since.
void report_synchronizing(sync_debug_mode mode);
}  // namespace detail

/// Sets the mode for all threads from now on. Thread-safe, as is the getter.
inline void set_sync_debug_mode(sync_debug_mode mode) noexcept {
  detail::sync_debug_mode_now.store(mode, std::memory_order_relaxed);
}
inline sync_debug_mode get_sync_debug_mode() noexcept {
  return detail::sync_debug_mode_now.load(std::memory_order_relaxed);
}

/// Warns in the mode `warn`, and throws c10::Error (RuntimeError) in the mode `error`. Call it
/// before the host waits for a stream's work. Costs one load in the mode `off`.
inline void note_synchronizing() {
  const sync_debug_mode mode = get_sync_debug_mode();
  if (C10_UNLIKELY(mode != sync_debug_mode::off)) detail::report_synchronizing(mode);
}

}  // namespace outback::core
