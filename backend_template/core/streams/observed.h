// Who is told of the device's work, in one call each: a profile's timeline (timeline/), the
// operator report (operators/) and OUTBACK_LAUNCH_BLOCKING (launches.h). Whoever enqueues
// work makes an `observed_work` around the slot, and whoever waits an `observed_wait`. While nobody
// observes, they cost one load for each observer.
//
// Kernels of a vendor's call through core/kernel_services.h instead, in two parts. The race finder
// (races/) is told of no work: events, memory and Python's operators are what it orders.
#pragma once

#include <c10/core/Stream.h>

#include <cstdint>

#include "backend_template/core/operators/call_notes.h"
#include "backend_template/core/streams/launches.h"
#include "backend_template/core/streams/stream.h"
#include "backend_template/core/timeline/timeline.h"
#include "outback/runtime.h"

namespace outback::core {

/// A piece of work that is enqueued while it lives.
class observed_work {
 public:
  /// Before the slot that enqueues it. Throws what `handle_of` throws.
  observed_work(work kind, const c10::Stream& stream, uint64_t bytes = 0)
      : kind_(kind),
        stream_(stream),
        handle_(handle_of(stream)),
        bytes_(bytes),
        in_timeline_(kind, stream, handle_, bytes) {}

  /// Returns the runtime's handle of the stream, for the slot.
  outback_stream handle() const noexcept { return handle_; }

  /// After the slot has returned OUTBACK_OK. Throws what `mark_launched` throws: the work is
  /// enqueued all the same.
  void enqueued() {
    const bool is_copy = kind_ == work::copy_within || kind_ == work::copy_between ||
                         kind_ == work::copy_to_device || kind_ == work::copy_to_host;
    if (is_copy) note_copy(kind_ != work::copy_to_host, kind_ != work::copy_to_device, bytes_);
    in_timeline_.enqueued();
    // A callback is no operator's work.
    if (kind_ == work::callback) return mark_busy(stream_);
    mark_launched(stream_);
  }

 private:
  const work kind_;
  const c10::Stream stream_;
  const outback_stream handle_;
  const uint64_t bytes_;
  piece in_timeline_;
};

/// A wait of the host for a stream, an event or a device, which ends with this object. `stream` is
/// no_stream where it is for more than one.
class observed_wait {
 public:
  observed_wait(work kind, c10::DeviceIndex device, c10::StreamId stream = no_stream) noexcept
      : in_timeline_(kind, device, stream), begun_(begin_wait()) {}
  ~observed_wait() { note_wait(begun_); }
  observed_wait(const observed_wait&) = delete;
  observed_wait& operator=(const observed_wait&) = delete;

 private:
  const host_wait in_timeline_;
  const int64_t begun_;
};

}  // namespace outback::core
