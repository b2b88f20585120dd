// The threads of groups and of Gloo, which may still drop tensors, and the group itself, when the
// last operation is over.
#pragma once

#include <chrono>

namespace outback::distributed {

/// The names of a group's own threads, as Linux shows them.
inline constexpr const char* kIssuerThread = "outback_issuer";
inline constexpr const char* kWaiterThread = "outback_waiter";

/// Returns true in one of the threads in which Gloo runs operations, and what is called back after
/// them. Such a thread cannot wait for its end.
bool is_gloos_thread();

/// Waits until each thread of Gloo's and of our groups sleeps, at most until `deadline`. The caller
/// must not hold the interpreter's lock.
///
/// A thread that completes an operation first wakes who waits for it, then drops its references to
/// tensors, for which it takes the interpreter's lock. If the interpreter has begun to end by then,
/// Python ends the thread through C++ frames that cannot be unwound: std::terminate. Gloo has no
/// way to ask, so this reads what Linux says of each thread. Does nothing without /proc.
void await_idle_threads(std::chrono::steady_clock::time_point deadline) noexcept;

}  // namespace outback::distributed
