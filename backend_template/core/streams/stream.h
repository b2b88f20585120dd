// Streams as torch numbers them, over the runtime's handles; and `drain`, the wait that a CPU
// kernel needs before it may touch device memory.
//
// Id 0 is a device's default stream. Ids 1 to 256 are a pool: it is filled on demand, up to 32
// streams for each priority, which are then given out in turn. Higher ids are external streams,
// which the driver's own users made. A stream is never destroyed, since a c10::Stream does not own
// it. If the runtime does not have the group streams, every id is 0 and every call is synchronous.
//
// Core counts the work that it puts on a stream, and knows how much of it is done from the waits
// and queries that it makes. So "is this stream idle?" costs a few loads and no slot. Code that
// enqueues work through the runtime calls `mark_busy` afterwards.
//
// On a device with a twin (twin/twin.h) all of this is the twin's: its streams with their ids, its
// current stream, its waits. Core then counts no work and takes no stream for idle.
//
// All functions are thread-safe. The current stream is a property of the thread and the device.
#pragma once

#include <c10/core/Stream.h>

#include <functional>
#include <utility>
#include <vector>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/timeline/timeline.h"
#include "outback/runtime.h"

namespace outback::core {

// ---- Which stream

/// Returns the device's default stream. This function and those below that return a stream of a
/// device take a negative index for the current device, and throw what check_index throws.
c10::Stream default_stream(c10::DeviceIndex device);

/// Returns the calling thread's current stream on `device`: the default one until the thread sets
/// another.
c10::Stream current_stream(c10::DeviceIndex device);

/// Returns the id of `current_stream(device)`. `device` must be a valid index.
c10::StreamId current_stream_id(c10::DeviceIndex device) noexcept;

/// Makes `stream` the calling thread's current stream on its device, and returns the one before.
/// The current device stays. Throws c10::Error (RuntimeError) for a stream that does not exist.
c10::Stream exchange_stream(c10::Stream stream);

/// The two streams that `make_current` replaced.
struct replaced_streams {
  c10::Stream here;   // the current stream of the device that was current then
  c10::Stream there;  // the current stream of the new stream's device
};

/// Makes `stream` current on its device, as `exchange_stream` does, and its device the thread's, as
/// torch.cuda.StreamContext does. Throws what `exchange_stream` and `set_device` throw, with
/// nothing changed.
replaced_streams make_current(const c10::Stream& stream);

/// Puts back the streams and the device that `make_current` replaced. Warns if the driver refuses
/// to select the device.
void restore(const replaced_streams& before);

/// Returns a stream of the pool, made now if the pool has room for its priority. Lower is more
/// urgent; `priority` is clamped to what the device has. Starts the backend. Throws what `check`
/// throws if the runtime cannot make a stream.
c10::Stream new_stream(c10::DeviceIndex device, int priority);
/// The same with the most urgent priority, or with priority 0.
c10::Stream pool_stream(c10::DeviceIndex device, bool high_priority);

/// Returns the stream for `native`, a stream handle of the driver's: the one of an earlier call, or
/// a new one. For a new one it calls `wrap`, which sets its argument to the runtime's stream or
/// throws. Throws c10::Error (RuntimeError) if the device has 1024 such streams already. For
/// native.h.
c10::Stream external_stream(c10::DeviceIndex device, void* native,
                            const std::function<void(outback_stream*)>& wrap);

/// Returns the runtime's handle to pass to slots: null for a default stream. It lives until the
/// process ends. Throws c10::Error (RuntimeError) for a stream whose id was never given out. On a
/// device with a twin, the runtime wraps the twin's native stream once (native.wrap_stream), the
/// default one too; then it throws c10::NotImplementedError if it has no such slot.
outback_stream handle_of(const c10::Stream& stream);

// ---- Waiting

/// Notes that work was put on `stream` through the runtime, so that `drain` waits for it. Call it
/// after the slot has returned OUTBACK_OK.
void mark_busy(const c10::Stream& stream);

/// Waits until the calling thread's current stream on `device`, a valid index, is idle. Costs a few
/// loads if it is. A CPU kernel that runs in place needs this wait before it reads or writes.
///
/// This function and the three below throw what `check` throws, and what work on the host has
/// reported (host_failure.h). They throw c10::Error (RuntimeError) for a stream that is capturing,
/// or a device that has such a stream, and break that capture.
void drain(c10::DeviceIndex device);

/// Returns true if the stream's work is done. Does not wait. Asks the runtime.
bool query_stream(const c10::Stream& stream);
/// Waits for the stream's work.
void synchronize_stream(const c10::Stream& stream);
/// Waits for the work of all streams of the device, those included that torch does not know. A
/// negative index means the current device.
void synchronize_device(c10::DeviceIndex device);

/// Throws what `drain` throws for a capture, which it breaks off, and does not wait. For work that
/// would be in vain, since a `drain` follows it.
void refuse_wait_in_capture(c10::DeviceIndex device);

/// Returns true if the work of all streams of `device` that torch knows is done. Does not wait.
/// Asks the runtime for one stream after another. Throws what `query_stream` throws.
bool query_device(c10::DeviceIndex device);

/// Returns the streams of `device` that torch has. Not for a device with a twin.
std::vector<known_stream> known_streams(c10::DeviceIndex device);

/// Returns true if all work that core put on the stream is known to be done. Asks nobody, so it may
/// return false for a stream that has just finished. Always false for an external stream and for
/// one that is in a capture, and true for one that does not exist.
bool is_idle(const c10::Stream& stream) noexcept;

/// The same, but asks the runtime where core does not know. So it is false only if work is left,
/// for an external stream, on a device with a twin, and while a stream of the device is captured,
/// by whomever. For a choice between two ways, of which the one for a busy stream costs more than
/// the question. Leaves what work on the host has reported (host_failure.h) to the next wait.
/// Throws what `check` and `capture_status` throw.
bool is_done(const c10::Stream& stream);

/// Returns what the runtime says of the stream, an OUTBACK_CAPTURE_*, also of a capture that torch
/// knows nothing of. Returns OUTBACK_CAPTURE_NONE if the runtime does not have the group graphs,
/// and before the backend has started. Throws what `check` throws, and what `blame` throws for a
/// value that does not exist.
outback_capture capture_status(const c10::Stream& stream);

// ---- Priorities

/// Returns the least and the greatest priority of the device's streams, as
/// torch.cuda.Stream.priority_range does. Lower numbers are more urgent: least >= 0 >= greatest.
/// {0, 0} without the group streams. Asks the runtime once a device, and keeps at most eight
/// priorities: the most urgent ones that still have 0 among them.
std::pair<int, int> priority_range(c10::DeviceIndex device);

/// Returns the priority that the stream was made with, after clamping. 0 for default and external
/// streams, and for those of a twin: c10 has no question for it.
int priority_of(const c10::Stream& stream);

}  // namespace outback::core
