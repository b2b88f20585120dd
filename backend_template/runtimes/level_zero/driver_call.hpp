// Keeps the process from ending while a thread of this runtime is inside the driver. After main()
// has returned, the driver's library is torn down even if threads are still inside: a thread that
// waits there for an event would crash the process.
#pragma once

#include <cstdint>

namespace outback::level_zero {

/// The longest wait of such a thread in one driver call, in nanoseconds. It may delay the exit by
/// this time.
inline constexpr uint64_t longest_wait_ns = 10'000'000;

/// While an object lives and converts to true, the process does not end. It converts to false once
/// the process is ending; then the driver must not be called. A thread that holds an object must
/// not call exit(), which would wait for that thread itself.
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

/// Registers the exit handler that waits for all `driver_call`s. Call it after the driver was
/// loaded and before the first `driver_call`: exit handlers run in reverse order, so this handler
/// runs before the driver's. Later calls do nothing. May be called from any thread.
void await_driver_calls_at_exit();

}  // namespace outback::level_zero
