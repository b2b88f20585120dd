// The lock of an interpreter, Python's GIL, that a thread may hold when torch calls us.
//
// torch gives the lock up around most of its operators, but not around all: `y[0] = 5.`,
// `y[mask] = 5.`, `numpy(force=True)`, storages' `cpu` and `fill_`, and pickling keep it. If such a
// thread then waits for the device, work on the host that needs the lock, an operator written in
// Python that a replay runs say, never gets it. So whatever waits gives the lock up first.
#pragma once

#include <atomic>

namespace outback::core {

/// The functions of an interpreter, which live until the process ends.
struct interpreter_lock {
  /// Gives up the lock, and returns what `restore` needs. Returns null, and does nothing, if the
  /// calling thread does not hold the lock or the interpreter is ending.
  void* (*release)() noexcept;
  void (*restore)(void* released) noexcept;
};

namespace detail {
inline constinit std::atomic<const interpreter_lock*> lock_of_interpreter{nullptr};
}  // namespace detail

/// Gives core the lock of this process's interpreter. Without it, in a program without Python,
/// there is none to give up.
inline void set_interpreter_lock(const interpreter_lock& lock) noexcept {
  detail::lock_of_interpreter.store(&lock, std::memory_order_release);
}

/// While it lives, the calling thread does not hold the interpreter's lock. The code inside must
/// not use Python. Costs a few nanoseconds if the lock is not held.
class without_interpreter_lock {
 public:
  without_interpreter_lock() noexcept
      : lock_(detail::lock_of_interpreter.load(std::memory_order_acquire)),
        released_(lock_ == nullptr ? nullptr : lock_->release()) {}
  ~without_interpreter_lock() {
    if (released_ != nullptr) lock_->restore(released_);
  }
  without_interpreter_lock(const without_interpreter_lock&) = delete;
  without_interpreter_lock& operator=(const without_interpreter_lock&) = delete;

 private:
  const interpreter_lock* lock_;
  void* released_;
};

/// Returns what `slot` returns, a call of a slot that may wait. The slot's error text can be asked
/// for afterwards.
template <class Slot>
auto unlocked(Slot&& slot) {
  const without_interpreter_lock while_it_runs;
  return slot();
}

}  // namespace outback::core
