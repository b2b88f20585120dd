// Events: points in a stream's work for which streams and the host can wait. The guard wraps this
// class for c10::Event and torch.Event; the allocators and copies of core use it directly.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/Stream.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "backend_template/core/runtime/descriptor.h"
#include "outback/runtime.h"

namespace outback::core {

/// The data with which another process opens an event (memory/ipc.h).
struct exported_event {
  outback_ipc_handle handle;
  descriptor file;  // the handle's descriptor, open while other processes may take it
};

class capture;

/// Owns one event of the runtime. `create` or the first `record` makes the runtime's event.
/// `record` on another device makes a new one.
///
/// If the runtime does not have the group events, `record` waits for the stream and keeps the
/// host's clock, so the event is complete when it is recorded.
///
/// On a device with a twin (twin/twin.h) it owns an event of the twin instead, which `record`
/// makes. But with flags that PyTorch's events do not have, which is all except timing, it owns an
/// event of the runtime.
///
/// Calls for one object must not overlap. Members that call a slot throw what `check` throws.
class event {
 public:
  /// `flags` are OUTBACK_EVENT_*. Calls no slot.
  explicit event(uint32_t flags = 0) noexcept : flags_(flags) {}
  /// Takes ownership of `made`, an event of the runtime on `device`, created with `flags`.
  event(uint32_t flags, c10::DeviceIndex device, outback_event made) noexcept
      : flags_(flags), device_(device), handle_(made) {}
  /// Destroys the runtime's event, which may still be pending. Does nothing in a forked child,
  /// since the event belongs to the parent.
  ~event();
  event(event&& other) noexcept : event() { *this = std::move(other); }
  /// Swaps the two events, so `other` destroys the old one.
  event& operator=(event&& other) noexcept;
  event(const event&) = delete;
  event& operator=(const event&) = delete;

  /// Makes the runtime's event on `device` without recording it. Does nothing if the event exists
  /// already, if the runtime does not have the group events, or if this object will own a twin's
  /// event. Starts the backend.
  void create(c10::DeviceIndex device);
  /// Records the event after all work that is on the stream now. Starts the backend. Throws
  /// c10::Error (RuntimeError) for a stream that does not exist.
  void record(const c10::Stream& stream);
  /// Makes all work that is enqueued on `stream` later wait for the last recording. The host does
  /// not wait. Does nothing if the event was never recorded. If the recording was part of a capture
  /// that is still open, `stream` joins that capture. If such a capture records operators that run
  /// on the CPU, the host waits for the stream's earlier work first.
  void block(const c10::Stream& stream) const;
  /// Returns true if the work before the last recording is done, or if the event was never
  /// recorded. Does not wait.
  bool query() const;
  /// Waits until `query` would return true.
  void synchronize() const;
  /// Returns the nanoseconds from this event's recording to `end`'s. Both must have been created
  /// with OUTBACK_EVENT_TIMING, recorded on one device, and be complete; otherwise it throws
  /// c10::Error (RuntimeError).
  int64_t elapsed_ns(const event& end) const;

  /// Returns the capture of which the last recording was part. Returns null if the recording was in
  /// no capture, or if the capture was destroyed.
  std::shared_ptr<capture> recorded_in() const { return recorded_in_.lock(); }

  /// Tells the race finder (races/race_finder.h) that the host has waited for this event.
  void note_host_wait() const;

  /// Return the runtime's event, which this object still owns, and its device: null and -1 before
  /// `create` or `record`. Without the group events, and for a twin's event, the handle is always
  /// null.
  outback_event handle() const noexcept { return handle_; }
  c10::DeviceIndex device() const noexcept { return device_; }
  /// Returns the twin's event, such as a cudaEvent_t. Returns null if this object owns no twin's
  /// event, or was never recorded.
  void* twins_event() const noexcept { return twins_event_; }

  /// Returns the data that ipc_handle_of (memory/ipc.h) has stored here for other processes, or
  /// null. It is dropped together with the runtime's event.
  const exported_event* exported() const noexcept { return exported_.get(); }
  void set_exported(std::unique_ptr<exported_event> made) const noexcept {
    exported_ = std::move(made);
  }

 private:
  uint32_t flags_;
  c10::DeviceIndex device_ = -1;  // -1: neither created nor recorded
  outback_event handle_ = nullptr;
  std::optional<c10::Device> twin_;  // set if the event belongs to this twin
  void* twins_event_ = nullptr;
  int64_t host_ns_ = 0;  // the steady clock at the recording; only without the group events
  mutable std::unique_ptr<exported_event> exported_;  // null until ipc_handle_of
  std::weak_ptr<capture> recorded_in_;
  // The operators that are over when the event is complete. Null unless it was recorded while a
  // race finder was active.
  std::shared_ptr<const std::vector<uint64_t>> race_clock_;

  void record_there(const c10::Stream& stream);
  std::optional<c10::Device> twin_for(c10::DeviceIndex device) const;
};

}  // namespace outback::core
