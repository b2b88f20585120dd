// Counts, for each operator call, the bytes it copies and its waits for the device, and notes whose
// kernel it runs. Code that copies, waits or runs a kernel notes that here, for the operator report
// (ops/report/).
#pragma once

#include <c10/macros/Macros.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace outback::core {

/// Whose kernel served a call, where the dispatcher's table does not tell. Two note it, and the
/// last note stands: who passes a declined call to the next provider (ops/next_provider.h) notes
/// that provider, and the engine that lends tensors (ops/in_place/) notes how it lent them.
/// `unknown`: the table tells.
enum class served_by : uint8_t { unknown, portable, own, in_place, over_copies, composed };

struct call_notes {
  uint64_t bytes_to_host = 0, bytes_to_device = 0, bytes_on_devices = 0;
  uint64_t copies = 0;            // calls of the slot mem_copy
  uint64_t waits = 0;             // host waits for a stream, an event or a device
  int64_t waited_ns = 0;          // of waits for work that was enqueued before the call
  bool waits_for_itself = false;  // later waits are for the call's own work
  served_by provider = served_by::unknown;
};

/// Bytes that were copied between the host and devices.
struct copied_bytes {
  uint64_t to_host = 0, to_device = 0;
};

namespace detail {
inline constinit thread_local copied_bytes copied_by_thread;
// Relaxed loads and stores: a thread may see a new value a moment later.
inline constinit std::atomic<bool> are_calls_noted{false};
// The notes of the innermost operator call in this thread; null outside operators. Set only while
// calls are noted.
inline constinit thread_local call_notes* notes_of_call = nullptr;
// The slow paths.
void note_copy(bool to_device, bool from_device, size_t size, bool by_slot) noexcept;
int64_t begin_wait() noexcept;
void note_wait(int64_t begun) noexcept;
void note_own_work() noexcept;
void note_provider(served_by provider) noexcept;
}  // namespace detail

/// Returns true while calls are noted. Costs one load.
inline bool are_calls_noted() noexcept {
  return detail::are_calls_noted.load(std::memory_order_relaxed);
}

/// Returns the bytes that this thread has copied since its start, whether or not calls are noted.
inline const copied_bytes& copied_by_thread() noexcept {
  return detail::copied_by_thread;
}

/// Notes that a copy of `size` bytes was enqueued, between the host and a device or between
/// devices.
inline void note_copy(bool to_device, bool from_device, size_t size) noexcept {
  if (!to_device) detail::copied_by_thread.to_host += size;
  if (!from_device) detail::copied_by_thread.to_device += size;
  if (C10_UNLIKELY(are_calls_noted())) detail::note_copy(to_device, from_device, size, true);
}

/// Notes `size` bytes that the CPU copied by itself, in memory that it addresses.
inline void note_moved(bool to_device, bool from_device, size_t size) noexcept {
  if (C10_UNLIKELY(are_calls_noted())) detail::note_copy(to_device, from_device, size, false);
}

/// Call it before the host waits for a stream, an event or a device. Returns the argument for
/// `note_wait`.
inline int64_t begin_wait() noexcept {
  return C10_UNLIKELY(are_calls_noted()) ? detail::begin_wait() : 0;
}

/// Call it after the wait, with the result of `begin_wait`.
inline void note_wait(int64_t begun) noexcept {
  if (C10_UNLIKELY(are_calls_noted())) detail::note_wait(begun);
}

/// Notes that the host has waited for all earlier work. Later waits of this operator call are for
/// its own work, so they count as its own time.
inline void note_own_work() noexcept {
  if (C10_UNLIKELY(are_calls_noted())) detail::note_own_work();
}

/// Notes who serves the call from here on.
inline void note_provider(served_by provider) noexcept {
  if (C10_UNLIKELY(are_calls_noted())) detail::note_provider(provider);
}

/// Returns the notes from outside operators since the process began; ignore `provider`.
/// Thread-safe.
call_notes notes_outside_operators() noexcept;

}  // namespace outback::core
