// A point in a stream's work that can be waited for.
#pragma once

#include <c10/core/Stream.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "backend_template/core/runtime/descriptor.h"
#include "outback/runtime.h"

namespace outback::core {

/// What other processes find an event by.
struct exported_event {
  outback_ipc_handle handle;
  descriptor file;  // the handle's, open as long as others may ask for it
};

class capture;

/// Owns one event of the runtime, made at its first recording and again when it is recorded on
/// another device. Without the runtime's event group, recording waits for the device and keeps the
/// host's clock. Not thread-safe against itself.
class event {
 public:
  /// `flags`: OUTBACK_EVENT_*.
  explicit event(uint32_t flags = 0) noexcept : flags_(flags) {}
  /// Takes over `made`, an event of the runtime on `device`.
  event(uint32_t flags, c10::DeviceIndex device, outback_event made) noexcept
      : flags_(flags), device_(device), handle_(made) {}
  ~event();
  event(event&& other) noexcept;
  event& operator=(event&& other) noexcept;
  event(const event&) = delete;
  event& operator=(const event&) = delete;

  /// Makes the runtime's event on `device` without recording it, unless there is one. Nothing
  /// without the event group.
  void create(c10::DeviceIndex device);
  void record(const c10::Stream& stream);
  /// What is enqueued on `stream` from now on waits for the last recording. Nothing when never
  /// recorded.
  void block(const c10::Stream& stream) const;
  /// True when never recorded.
  bool query() const;
  void synchronize() const;
  /// Nanoseconds from this event to `end`; both recorded with timing and complete.
  int64_t elapsed_ns(const event& end) const;

  /// The capture that the last recording was a part of, if it was in one that is open.
  std::shared_ptr<capture> recorded_in() const { return recorded_in_.lock(); }

  /// Of the last recording; null, and -1, before it or `create`. Without the event group there is
  /// no handle.
  outback_event handle() const noexcept { return handle_; }
  c10::DeviceIndex device() const noexcept { return device_; }

  /// How other processes find it, once that was asked for (core/memory/ipc.h); null before. Gone with the
  /// runtime's event.
  const exported_event* exported() const noexcept { return exported_.get(); }
  void set_exported(std::unique_ptr<exported_event> it) const noexcept {
    exported_ = std::move(it);
  }

 private:
  void release() noexcept;

  uint32_t flags_;
  c10::DeviceIndex device_ = -1;  // -1: never recorded
  outback_event handle_ = nullptr;
  int64_t host_ns_ = 0;                               // only without the event group
  mutable std::unique_ptr<exported_event> exported_;  // made when somebody asks
  std::weak_ptr<capture> recorded_in_;
};

}  // namespace outback::core
