// Streams with torch's ids, over the runtime's handles, and `drain`, which a CPU kernel must call
// before it touches device memory.
//
// Id 0 is a device's default stream. Ids 1 to 256 are a pool, which is filled on demand, up to 32
// streams for each priority; these streams are then given out in turn. Higher ids are external
// streams, which other code made with the driver. A stream is never destroyed, since a c10::Stream
// does not own its stream. If the runtime does not have the group streams, every id is 0 and every
// call is synchronous.
//
// Core counts the work that it puts on a stream, and learns from its waits and queries how much of
// the work is done. So `is_idle` costs a few loads and calls no slot. Code that enqueues work
// through the runtime calls `mark_busy` afterwards.
//
// On a device with a twin (twin/twin.h) these functions use the twin's streams with their ids, the
// twin's current stream, and its waits. Then core counts no work and treats no stream as idle.
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

/// Returns the device's default stream. For this function and the functions below that return a
/// stream of a device, a negative index means the current device; they throw what check_index
/// throws.
c10::Stream default_stream(c10::DeviceIndex device);

/// Returns the calling thread's current stream on `device`: the default stream until the thread
/// sets another one.
c10::Stream current_stream(c10::DeviceIndex device);

/// Returns the id of `current_stream(device)`. `device` must be a valid index.
c10::StreamId current_stream_id(c10::DeviceIndex device) noexcept;

/// Makes `stream` the calling thread's current stream on its device, and returns the previous one.
/// Does not change the current device. Throws c10::Error (RuntimeError) for a stream that does not
/// exist.
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

/// Returns a stream of the pool. Makes a new one if the pool has room for the priority. Lower
/// numbers are more urgent; `priority` is clamped to the device's range. Starts the backend. Throws
/// what `check` throws if the runtime cannot make a stream.
c10::Stream new_stream(c10::DeviceIndex device, int priority);
/// Does the same with the most urgent priority if `high_priority`, else with priority 0.
c10::Stream pool_stream(c10::DeviceIndex device, bool high_priority);

/// Returns the stream for `native`, a stream handle of the driver: the stream of an earlier call,
/// or a new one. For a new stream it calls `wrap`, which sets its argument to the runtime's stream
/// or throws. Throws c10::Error (RuntimeError) if the device has 1024 such streams already. For
/// native.h.
c10::Stream external_stream(c10::DeviceIndex device, void* native,
                            const std::function<void(outback_stream*)>& wrap);

/// Returns the runtime's handle for slots: null for a default stream. The handle lives until the
/// process ends. Throws c10::Error (RuntimeError) for a stream whose id was never given out. On a
/// device with a twin, the runtime wraps each of the twin's native streams once
/// (native.wrap_stream), also the default stream; a runtime without this slot makes the call throw
/// c10::NotImplementedError.
outback_stream handle_of(const c10::Stream& stream);

// ---- Waiting

/// Notes that work was put on `stream` through the runtime, so that `drain` waits for it. Call it
/// after the slot has returned OUTBACK_OK.
void mark_busy(const c10::Stream& stream);

/// Waits until the calling thread's current stream on `device`, a valid index, is idle. Costs a few
/// loads for an idle stream. A CPU kernel that runs in place needs this wait before it reads or
/// writes.
///
/// This function and the three below throw what `check` throws, and the kept failures of host work
/// (host_failure.h). For a stream that is capturing, or a device that has such a stream, they throw
/// c10::Error (RuntimeError) and break the capture.
void drain(c10::DeviceIndex device);

/// Returns true if the stream's work is done. Does not wait. Asks the runtime.
bool query_stream(const c10::Stream& stream);
/// Waits for the stream's work.
void synchronize_stream(const c10::Stream& stream);
/// Waits for the work of all streams of the device, also of streams that torch does not know. A
/// negative index means the current device.
void synchronize_device(c10::DeviceIndex device);

/// Throws what `drain` throws for a capture, and breaks the capture, but does not wait. Call it
/// before work that would be useless because a later `drain` would throw.
void refuse_wait_in_capture(c10::DeviceIndex device);

/// Returns true if the work of all streams of `device` that torch knows is done. Does not wait.
/// Asks the runtime for one stream after another. Throws what `query_stream` throws.
bool query_device(c10::DeviceIndex device);

/// Returns the streams of `device` that torch has. Do not call it for a device with a twin.
std::vector<known_stream> known_streams(c10::DeviceIndex device);

/// Returns true if all work that core put on the stream is known to be done. Does not ask the
/// runtime, so it may return false for a stream that has just finished. Returns false for every
/// external stream and every stream in a capture, and true for a stream that does not exist.
bool is_idle(const c10::Stream& stream) noexcept;

/// Does the same, but asks the runtime if core does not know. So it returns false only if work is
/// left, for an external stream, on a device with a twin, and while any capture is on the device.
/// Use it to choose between two ways if the way for a busy stream costs more than the query. Keeps
/// failures of host work (host_failure.h) for the next wait. Throws what `check` and
/// `capture_status` throw.
bool is_done(const c10::Stream& stream);

/// Returns the runtime's capture status of the stream, an OUTBACK_CAPTURE_*, which also covers
/// captures that torch does not know. Returns OUTBACK_CAPTURE_NONE if the runtime does not have the
/// group graphs, and before the backend has started. Throws what `check` throws, and what `blame`
/// throws for an undefined value.
outback_capture capture_status(const c10::Stream& stream);

// ---- Priorities

/// Returns the least and the greatest priority of the device's streams, as
/// torch.cuda.Stream.priority_range does. Lower numbers are more urgent: least >= 0 >= greatest.
/// Returns {0, 0} without the group streams. Asks the runtime once per device, and keeps at most
/// eight priorities: the most urgent range that includes 0.
std::pair<int, int> priority_range(c10::DeviceIndex device);

/// Returns the priority with which the stream was made, after clamping. Returns 0 for default and
/// external streams, and for streams of a twin, since c10 has no query for their priority.
int priority_of(const c10::Stream& stream);

}  // namespace outback::core
