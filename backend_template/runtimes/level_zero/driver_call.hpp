// What threads of ours call of the driver, and the end of the process. When main() has returned,
// the driver's library is taken down whichever threads are still in it: a thread that waits for an
// event there crashes the process.
#pragma once

#include <cstdint>

namespace outback::level_zero {

/// A wait of such a thread is cut into pieces of this length: so long an exit may take longer.
inline constexpr uint64_t longest_wait_ns = 10'000'000;

/// While it lives, and is true, the process does not end. It is false once the process is ending:
/// then the driver may not be called. Not for threads that may call exit() meanwhile.
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

/// To be called before the first `driver_call`, and after the driver was loaded: what is registered
/// last runs first when the process ends. Again is nothing.
void await_driver_calls_at_exit();

}  // namespace outback::level_zero
