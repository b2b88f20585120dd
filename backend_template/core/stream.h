// Streams as torch numbers them, over the runtime's handles; and the wait that a CPU kernel needs
// before it may touch device memory.
//
// Id 0 is a device's default stream. Other ids name streams of a pool that is filled on demand, 32
// to a priority, then handed out in turn; ids beyond those are streams that the driver's owner
// made. All live as long as the process. Without the runtime's stream group every id is 0 and every
// call is synchronous.
#pragma once

#include <c10/core/Stream.h>

#include <functional>
#include <utility>

#include "backend_template/core/device.h"
#include "outback/runtime.h"

namespace outback::core {

c10::Stream default_stream(c10::DeviceIndex device);

/// The calling thread's stream on `device`; a negative index means the current device.
c10::Stream current_stream(c10::DeviceIndex device);

/// The number of the calling thread's stream on a device that there is.
c10::StreamId current_stream_id(c10::DeviceIndex device) noexcept;

/// Makes `stream` the calling thread's on its device and returns the one before. Leaves the device
/// alone.
c10::Stream exchange_stream(c10::Stream stream);

/// What was current before another stream was: on the device of that time, and on the stream's own.
struct replaced_streams {
  c10::Stream here;
  c10::Stream there;
};

/// Makes `stream` the calling thread's on its device, and that device the thread's. Where it throws
/// nothing has changed.
replaced_streams make_current(const c10::Stream& stream);

/// Back to what `make_current` replaced. A driver that refuses to select the device is warned of.
void restore(const replaced_streams& before);

/// A stream of the pool. `priority`: lower is more urgent, clamped to what the device has.
c10::Stream new_stream(c10::DeviceIndex device, int priority);
c10::Stream pool_stream(c10::DeviceIndex device, bool high_priority);

/// The stream that stands for the driver's `native`: the one that this answered before, or a new
/// one from `wrap`, which throws or sets its argument. At most 1024 on a device.
c10::Stream external_stream(c10::DeviceIndex device, void* native,
                            const std::function<void(outback_stream*)>& wrap);

/// The runtime's handle: null for a default stream. Throws for an id that was never given out.
outback_stream handle_of(const c10::Stream& stream);

/// To be called after work was put on `stream` through the runtime, so that `drain` waits for it.
void mark_busy(const c10::Stream& stream);

/// Waits until the calling thread's current stream on `device` is idle. Costs a few loads when it
/// is. `device` is a valid index.
void drain(c10::DeviceIndex device);

/// These, and `drain`, throw for a stream that is capturing, or a device of which one is, and break
/// that capture. They throw too what work on the host reported (host_failure.h).
bool query_stream(const c10::Stream& stream);
void synchronize_stream(const c10::Stream& stream);
void synchronize_device(c10::DeviceIndex device);

/// A stream that is captured is never idle. For capture.cpp.
void set_captured(const c10::Stream& stream, bool captured) noexcept;

/// Asks the runtime whether all streams of `device` that torch knows are done. Never waits. Throws
/// where one has failed.
bool query_device(c10::DeviceIndex device);

/// True when all that was put on the stream through core is known to be done. Never waits, never
/// throws.
bool is_idle(const c10::Stream& stream) noexcept;

/// Least and greatest (most urgent) priority, as torch.cuda.Stream.priority_range: eight of the
/// runtime's at most.
std::pair<int, int> priority_range(c10::DeviceIndex device);

/// What the stream was made with, clamped; 0 for default and external streams.
int priority_of(const c10::Stream& stream);

}  // namespace outback::core
