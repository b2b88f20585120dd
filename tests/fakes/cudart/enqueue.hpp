// What a stream does with work, in a capture and outside. All with the machine's lock.
#pragma once

#include <span>

#include "tests/fakes/cudart/enter.hpp"

namespace fake_cuda {

/// The stream of a handle: 0 and 1 are the current device's legacy stream, 2 the thread's own. One
/// that was destroyed is a misuse. Throws if its device is lost.
stream_ptr find_stream(call& c, cudaStream_t handle);
/// The same for those that CUDA runs on the current device alone.
stream_ptr find_stream_here(call& c, cudaStream_t handle);
event_ptr find_event(call& c, cudaEvent_t handle);

/// The work, or null in a capture, which took it. `after` is what it waits for beyond the stream.
work_ptr enqueue(call& c, stream& on, task what, std::span<const work_ptr> after = {});
/// What has to be done before the stream is: for the legacy stream, all that blocks it.
std::vector<work_ptr> outstanding(machine& m, const stream& of);

// ---- What captures allow; each throws where they do not.

/// A call that may synchronize behind its caller's back: not while a capture says no. Breaks it.
void refuse_unsafe(call& c);
/// Waiting for the stream, or asking it: not in a capture.
void refuse_captured(call& c, stream& asked);
/// The same for a device: no stream of it may be in a capture.
void refuse_captures_of(call& c, const device& asked);
/// The stream's capture is not broken; and no use of the legacy stream where a capture forbids it.
void check_capture(call& c, stream& on);
/// Whether the stream is captured. Asking it of the legacy stream throws as using it would.
cudaStreamCaptureStatus capture_status(call& c, stream& asked);
/// All streams leave it.
void end_capture(machine& m, const std::shared_ptr<capture>& ended);

}  // namespace fake_cuda
