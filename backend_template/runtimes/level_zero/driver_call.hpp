// Keeps the process from ending while one of our threads is inside the driver. When main() has
// returned, the driver's library is torn down, whichever threads are still in it: a thread that
// waits for an event there would crash the process.
#pragma once

#include <cstdint>

namespace outback::level_zero {

/// The longest wait of such a thread in one call of the driver, in nanoseconds. An exit may take
/// that much longer.
inline constexpr uint64_t longest_wait_ns = 10'000'000;

/// While an object lives and is true, the process does not end. It is false once the process is
/// ending; then the driver must not be called. Only for threads that do not call exit() meanwhile,
/// which would wait for themselves.
class driver_call {
 public:
  driver_call() noexcept;
  ~driver_call();
  driver_call(const driver_call&) = delete;
  driver_call& operator=(const driver_call&) = delete;
  explicit operator bool() const noexcept { return admitted_; }

 private:
  bool admitted_;
};

/// Registers the function that waits for `driver_call`s when the process ends. Call it before the
/// first one and after the driver was loaded: exit handlers run in reverse order, so this one runs
/// before the driver's. Later calls do nothing. May be called from any thread.
void await_driver_calls_at_exit();

}  // namespace outback::level_zero
