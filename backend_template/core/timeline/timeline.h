// The device's work in torch's profiler: what a profile with ProfilerActivity.PrivateUse1 records.
// Who enqueues work makes a `piece` around the call, who waits a `host_wait` (streams/observed.h
// does both); interfaces/kineto.cpp starts and stops the recording, and hands torch what it has.
//
// If the runtime has the group activity, the driver's own records say when a piece of work began
// and ended, whoever enqueued it. Otherwise a piece on a stream stands between two events with
// timing, which are read when the work is done, at the latest when the profile ends. Nothing is
// recorded on a device with a twin, whose profiler sees that work itself, and in a capture, whose
// work does not run yet.
//
// Thread-safe, and nothing here throws. No lock is held around a slot.
#pragma once

#include <c10/core/Stream.h>
#include <c10/macros/Macros.h>

#include <atomic>
#include <cstdint>
#include <vector>

#include "backend_template/core/timeline/work.h"
#include "outback/runtime.h"

namespace outback::core {

namespace detail {
// The number of the profile that records, or 0.
inline constinit std::atomic<uint64_t> profile_now{0};
void note_in_place(c10::DeviceIndex device, c10::StreamId stream) noexcept;
void note_fallback(c10::DeviceIndex device) noexcept;
}  // namespace detail

/// Returns true while a profile records. Costs one load.
inline bool is_recording() noexcept {
  return C10_UNLIKELY(detail::profile_now.load(std::memory_order_acquire) != 0);
}

/// A piece of work that is enqueued while it lives. Does nothing unless a profile records.
class piece {
 public:
  piece() noexcept = default;
  /// Before the slot that enqueues it. `handle` is the runtime's of `stream`.
  piece(work kind, const c10::Stream& stream, outback_stream handle, uint64_t bytes = 0) noexcept {
    if (is_recording()) begin(kind, stream, handle, bytes);
  }
  /// Drops the piece unless `enqueued` was called.
  ~piece() {
    if (C10_UNLIKELY(profile_ != 0)) drop();
  }
  piece(const piece&) = delete;
  piece& operator=(const piece&) = delete;

  /// Does what the constructor does, for a piece that is not begun or has ended.
  void begin(work kind, const c10::Stream& stream, outback_stream handle, uint64_t bytes) noexcept;
  /// After the slot has returned OUTBACK_OK. Does nothing for a piece that is not begun.
  void enqueued() noexcept {
    if (C10_UNLIKELY(profile_ != 0)) end();
  }
  /// The work did not run after all.
  void drop() noexcept;

 private:
  void end() noexcept;

  uint64_t profile_ = 0;  // 0: not begun
  work kind_{};
  c10::DeviceIndex device_ = -1;
  c10::StreamId stream_ = no_stream;
  outback_stream handle_ = nullptr;
  uint64_t bytes_ = 0;
  int64_t host_begin_ = 0;
  outback_event begin_ = nullptr;
  uint64_t number_ = 0;  // of the driver's record; 0 without one
};

/// A wait of the host, which ends with this object. `stream` is no_stream where it is for more than
/// one.
class host_wait {
 public:
  host_wait(work kind, c10::DeviceIndex device, c10::StreamId stream = no_stream) noexcept {
    if (is_recording()) begin(kind, device, stream);
  }
  ~host_wait() {
    if (C10_UNLIKELY(profile_ != 0)) end();
  }
  host_wait(const host_wait&) = delete;
  host_wait& operator=(const host_wait&) = delete;

 private:
  void begin(work kind, c10::DeviceIndex device, c10::StreamId stream) noexcept;
  void end() noexcept;

  uint64_t profile_ = 0;
  work kind_{};
  c10::DeviceIndex device_ = -1;
  c10::StreamId stream_ = no_stream;
  int64_t begin_ = 0;
};

/// The CPU begins to compute on the memory of the device now, whose stream is idle. The work ends
/// with the operator that the calling thread is in; outside of one, nothing is recorded.
inline void note_in_place(c10::DeviceIndex device, c10::StreamId stream) noexcept {
  if (is_recording()) detail::note_in_place(device, stream);
}

/// The operator that the calling thread is in runs on the CPU, over copies.
inline void note_fallback(c10::DeviceIndex device) noexcept {
  if (is_recording()) detail::note_fallback(device);
}

/// A collective, which is called on one thread, begins on another, and ends on a third:
/// `call_collective` returns what the others get. `name` lives as long as the process.
struct begun_collective {
  uint64_t profile = 0;
  uint64_t in_operator = 0;
  uint64_t in_range = 0;
  int32_t thread = 0;
  int64_t begin = 0;
};
begun_collective call_collective() noexcept;
void begin_collective(begun_collective& called) noexcept;
void end_collective(const begun_collective& begun, c10::DeviceIndex device,
                    const char* name) noexcept;

// ---- For interfaces/kineto.cpp

/// Torch enters and leaves an operator, or a range of record_function's, on the calling thread.
void enter_operator(uint64_t number, bool is_range) noexcept;
void leave_operator() noexcept;

/// What a profile has recorded, in no particular order.
struct timeline {
  std::vector<recorded_work> all;
  std::vector<nested_range> nested;
  uint64_t lost = 0;  // pieces of which the device told no time, or for which there was no memory
};

/// A stream that torch has, and the runtime's handle of it.
struct known_stream {
  c10::StreamId id;
  outback_stream handle;
};
/// Tells which there are of a device.
using stream_list = std::vector<known_stream> (*)(c10::DeviceIndex device);

/// Begins to record. Returns the profile's number, or 0 if another one records already.
uint64_t start_recording() noexcept;
/// Ends it, waits for the work that was recorded, and returns it. Returns nothing for a profile
/// that does not record.
timeline stop_recording(uint64_t profile, stream_list streams) noexcept;
/// Ends it without a wait or a slot. Does nothing for a profile that does not record.
void abandon_recording(uint64_t profile) noexcept;

}  // namespace outback::core
