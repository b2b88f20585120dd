#include "backend_template/core/streams/event.h"

#include <c10/util/Exception.h>

#include <chrono>
#include <cmath>
#include <utility>

#include "backend_template/core/captures/capture.h"
#include "backend_template/core/devices/lazy_start.h"
#include "backend_template/core/races/race_finder.h"
#include "backend_template/core/runtime/interpreter_lock.h"
#include "backend_template/core/runtime/runtime.h"
#include "backend_template/core/streams/event_flag.h"
#include "backend_template/core/streams/observed.h"
#include "backend_template/core/streams/stream.h"
#include "backend_template/core/twin/twin.h"

namespace outback::core {
namespace {

int64_t host_clock_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

}  // namespace

event::~event() {
  // In a forked child the handle is the parent's. The status is ignored: a destructor cannot report
  // it, and at exit the driver may be gone already.
  if (is_in_bad_fork()) return;
  if (handle_ != nullptr) runtime().events->destroy(runtime().self, device_, handle_);
  if (twins_event_ != nullptr) guard_of(*twin_).destroyEvent(twins_event_, twin_->index());
}

event& event::operator=(event&& other) noexcept {
  std::swap(flags_, other.flags_);
  std::swap(device_, other.device_);
  std::swap(handle_, other.handle_);
  std::swap(twin_, other.twin_);
  std::swap(twins_event_, other.twins_event_);
  std::swap(host_ns_, other.host_ns_);
  std::swap(exported_, other.exported_);
  std::swap(recorded_in_, other.recorded_in_);
  std::swap(race_clock_, other.race_clock_);
  return *this;
}

std::optional<c10::Device> event::twin_for(c10::DeviceIndex device) const {
  if ((flags_ & ~uint32_t{OUTBACK_EVENT_TIMING}) != 0) return std::nullopt;
  return twin_of(device);
}

void event::create(c10::DeviceIndex device) {
  ensure_started();
  const outback_events* group = runtime().events;
  if (group == nullptr || handle_ != nullptr || twin_for(device)) return;
  // A local variable, so that this object is unchanged if the slot fails.
  outback_event made = nullptr;
  check(group->create(runtime().self, device, flags_, &made), "events.create", device);
  check_made(made, "event", "events.create", device);
  handle_ = made;
  device_ = device;
}

void event::record(const c10::Stream& stream) {
  record_there(stream);
  race_finder* const finder = active_race_finder();
  race_clock_ = finder == nullptr ? nullptr : finder->record(stream);
}

void event::record_there(const c10::Stream& stream) {
  ensure_started();
  const outback_events* group = runtime().events;
  const c10::DeviceIndex device = stream.device_index();
  check_index(device);
  const std::optional<c10::Device> twin = twin_for(device);
  // An event of a twin belongs to one device, as one of the runtime does.
  if (twin_ != twin) *this = event(flags_);
  if (twin) {
    guard_of(*twin).record(&twins_event_, stream_of(stream, *twin), twin->index(),
                           event_flag_of(flags_));
    twin_ = twin;
    device_ = device;
    return;
  }
  if (group == nullptr) {
    // The work is done now, so whoever waits for this event later has nothing to wait for.
    synchronize_stream(stream);
    device_ = device;
    host_ns_ = host_clock_ns();
    return;
  }
  const outback_stream queue = handle_of(stream);
  // An event of the runtime belongs to one device, and torch may record one on any.
  if (handle_ == nullptr || device_ != device) {
    event made(flags_);
    made.create(device);
    *this = std::move(made);
  }
  check(group->record(runtime().self, device, handle_, queue), "events.record", device);
  // Null outside of a capture, so that recording again there ends the tie to an earlier one.
  recorded_in_ = capture_of(stream);
}

void event::block(const c10::Stream& stream) const {
  if (race_finder* const finder = active_race_finder();
      finder != nullptr && race_clock_ != nullptr) {
    finder->wait(stream, *race_clock_);
  }
  if (twins_event_ != nullptr) {
    const std::optional<c10::Device> twin = twin_of(stream.device_index());
    // A stream of a device without a twin cannot wait for the twin's events.
    if (!twin) return synchronize();
    return guard_of(*twin).block(twins_event_, stream_of(stream, *twin));
  }
  if (handle_ == nullptr) return;
  const c10::DeviceIndex device = stream.device_index();
  const std::shared_ptr<capture> joined = any_capture(device_) ? recorded_in() : nullptr;
  if (joined != nullptr) joined->spread_to(device);
  // The stream is about to join a capture that records CPU operators, and these compute while they
  // are recorded. So what the stream was given before has to be done.
  if (joined != nullptr && joined->program() != nullptr && capture_of(stream) == nullptr &&
      !is_idle(stream)) {
    synchronize_stream(stream);
  }
  check(runtime().events->wait(runtime().self, device, handle_, handle_of(stream)), "events.wait",
        device);
  // The wait is work of the stream too: a CPU kernel on it has to wait as well.
  mark_busy(stream);
  if (joined != nullptr) join_capture(joined, stream);
}

void event::note_host_wait() const {
  race_finder* const finder = active_race_finder();
  if (finder != nullptr && race_clock_ != nullptr) finder->host_wait(*race_clock_);
}

bool event::query() const {
  if (twins_event_ != nullptr) return guard_of(*twin_).queryEvent(twins_event_);
  if (handle_ == nullptr) return true;
  return check_ready(runtime().events->query(runtime().self, device_, handle_), "events.query",
                     device_);
}

void event::synchronize() const {
  if (twins_event_ != nullptr) {
    const observed_wait waiting(work::event_wait, device_);
    return unlocked([&] { guard_of(*twin_).synchronizeEvent(twins_event_); });
  }
  if (handle_ == nullptr) return;
  const observed_wait waiting(work::event_wait, device_);
  const auto sync = [&] { return runtime().events->sync(runtime().self, device_, handle_); };
  check(unlocked(sync), "events.sync", device_);
}

int64_t event::elapsed_ns(const event& end) const {
  TORCH_CHECK(device_ >= 0 && end.device_ >= 0,
              "both events must be recorded before the elapsed time is asked for");
  TORCH_CHECK(device_ == end.device_,
              "the elapsed time needs two events of one device: these were recorded on devices ",
              int{device_}, " and ", int{end.device_});
  TORCH_CHECK(twin_ == end.twin_, "the elapsed time needs two events with the same flags");
  if (twin_) {
    constexpr double nanoseconds_per_millisecond = 1e6;
    return std::llround(
        guard_of(*twin_).elapsedTime(twins_event_, end.twins_event_, twin_->index()) *
        nanoseconds_per_millisecond);
  }
  if (runtime().events == nullptr) return end.host_ns_ - host_ns_;
  const auto ask = [&](int64_t* ns) {
    return runtime().events->elapsed(runtime().self, handle_, end.handle_, ns);
  };
  return answer_of<int64_t>(ask, "ns", "events.elapsed", device_);
}

}  // namespace outback::core
