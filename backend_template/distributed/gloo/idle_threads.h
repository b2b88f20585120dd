// Waits for the threads of groups and of Gloo. After the last operation is over, such a thread may
// still drop its references to tensors and to the group.
#pragma once

#include <chrono>

namespace outback::distributed {

/// The names of a group's own threads, as Linux shows them.
inline constexpr const char* kIssuerThread = "outback_issuer";
inline constexpr const char* kWaiterThread = "outback_waiter";

/// Returns true if the calling thread is one in which Gloo runs operations and their callbacks.
/// Such a thread must not wait for its own end.
bool is_gloos_thread();

/// Waits until each thread of Gloo and of this backend's groups sleeps, at most until `deadline`.
/// The caller must not hold the interpreter's lock.
///
/// A thread that completes an operation first wakes the waiting threads, then takes the
/// interpreter's lock and drops its references to tensors. If the interpreter has begun to end by
/// then, Python ends the thread through C++ frames that cannot be unwound: std::terminate. Gloo
/// cannot tell whether its threads are idle, so this function reads the state of each thread from
/// /proc. Does nothing without /proc.
void await_idle_threads(std::chrono::steady_clock::time_point deadline) noexcept;

}  // namespace outback::distributed
