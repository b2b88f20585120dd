// Finding the calls that make the host wait for a device, as torch.cuda.set_sync_debug_mode.
#pragma once

#include <c10/macros/Macros.h>

#include <atomic>
#include <cstdint>

namespace outback::core {

enum class sync_debug_mode : uint8_t { off = 0, warn = 1, error = 2 };

/// For all threads, from now on.
void set_sync_debug_mode(sync_debug_mode mode) noexcept;
sync_debug_mode get_sync_debug_mode() noexcept;

namespace detail {
extern std::atomic<sync_debug_mode> sync_debug_mode_now;
void report_synchronizing();
}  // namespace detail

/// To be called before the host waits for work of a stream which the caller did not ask for as
/// such. Warns, or throws c10::Error, if that is the mode.
inline void note_synchronizing() {
  if (C10_UNLIKELY(detail::sync_debug_mode_now.load(std::memory_order_relaxed) !=
                   sync_debug_mode::off)) {
    detail::report_synchronizing();
  }
}

}  // namespace outback::core
