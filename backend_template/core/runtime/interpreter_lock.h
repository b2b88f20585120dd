// The lock of an interpreter (Python's GIL), which a thread may hold when torch calls this library.
//
// torch releases the lock around most of its operators, but `y[0] = 5.`, `y[mask] = 5.`,
// `numpy(force=True)`, storages' `cpu` and `fill_`, and pickling keep it. If such a thread waits
// for the device, and the device waits for host work that needs the lock (for example a Python
// operator in a replay), both wait for ever. So core releases the lock before each wait.
#pragma once

#include <atomic>

namespace outback::core {

/// The functions of an interpreter. They must stay valid until the process ends.
struct interpreter_lock {
  /// Releases the lock, and returns the argument for `restore`. If the calling thread does not hold
  /// the lock, or the interpreter is ending, does nothing and returns null.
  void* (*release)() noexcept;
  void (*restore)(void* released) noexcept;
};

namespace detail {
inline constinit std::atomic<const interpreter_lock*> lock_of_interpreter{nullptr};
}  // namespace detail

/// Sets the lock of this process's interpreter. A program without Python need not call it: then
/// core releases no lock.
inline void set_interpreter_lock(const interpreter_lock& lock) noexcept {
  detail::lock_of_interpreter.store(&lock, std::memory_order_release);
}

/// While this object lives, the calling thread does not hold the interpreter's lock, so its code
/// must not use Python. Costs a few nanoseconds if the lock is not held.
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

/// Calls `slot`, which calls a runtime slot that may wait, without the interpreter's lock, and
/// returns its result. last_error still returns the slot's error text afterwards.
template <class Slot>
auto unlocked(Slot&& slot) {
  const without_interpreter_lock while_it_runs;
  return slot();
}

}  // namespace outback::core
