#include "backend_template/core/timeline/timeline.h"

#include <exception>
#include <utility>

#include "backend_template/core/captures/capture.h"
#include "backend_template/core/devices/lazy_start.h"
#include "backend_template/core/runtime/runtime.h"
#include "backend_template/core/timeline/device_clock.h"
#include "backend_template/core/timeline/driver_records.h"
#include "backend_template/core/timeline/operators.h"
#include "backend_template/core/timeline/recorder.h"
#include "backend_template/core/twin/twin.h"

namespace outback::core {
bool is_captured(const c10::Stream& stream) noexcept {
  if (!any_capture(stream.device_index())) return false;
  try {
    return capture_of(stream) != nullptr;
  } catch (const std::exception&) {
    return true;  // nobody can tell: better no piece than a broken capture
  }
}

namespace {

// Null if the runtime does not do it. Leaves the error to the slot that does the work. `before` is
// the host's time when the event was about to be recorded.
outback_event record_now(uint64_t profile, c10::DeviceIndex device, outback_stream handle,
                         int64_t* before) {
  const outback_event taken = runtime().events == nullptr ? nullptr : take_event(profile, device);
  *before = host_now();
  if (taken == nullptr) return nullptr;
  if (runtime().events->record(runtime().self, device, taken, handle) == OUTBACK_OK) return taken;
  return_event(profile, device, taken);
  return nullptr;
}

}  // namespace

void piece::begin(work kind, const c10::Stream& stream, outback_stream handle,
                  uint64_t bytes) noexcept {
  drop();
  const uint64_t profile = detail::profile_now.load(std::memory_order_acquire);
  const c10::DeviceIndex device = stream.device_index();
  if (profile == 0 || is_in_bad_fork() || is_known_to_have_twin(device) || is_captured(stream)) {
    return;
  }
  profile_ = profile;
  kind_ = kind;
  device_ = device;
  stream_ = stream.id();
  handle_ = handle;
  bytes_ = bytes;
  if (has_records(profile, device)) {
    const uint64_t number = next_number();
    host_begin_ = host_now();
    number_ = push_number(number) ? number : 0;
  } else {
    begin_ = record_now(profile, device, handle, &host_begin_);
  }
}

void piece::end() noexcept {
  const uint64_t profile = std::exchange(profile_, 0);
  const uint64_t number = std::exchange(number_, 0);
  const outback_event begin = std::exchange(begin_, nullptr);
  if (number != 0) pop_number();
  const bool is_timed = begin != nullptr;
  int64_t now = 0;
  const outback_event end = is_timed ? record_now(profile, device_, handle_, &now) : nullptr;
  if (!is_timed) now = host_now();
  const operator_place here = place_here(profile);
  recorded_work made{.kind = kind_,
                     .device = device_,
                     .stream = stream_,
                     .bytes = bytes_,
                     .name = nullptr,
                     .in_operator = here.in_operator,
                     .in_range = here.in_range,
                     .thread = thread_here(),
                     .host_begin = host_begin_,
                     .host_end = now,
                     .device_begin = 0,
                     .device_end = 0};
  if (number != 0) return keep_asked(profile, number, made);
  if (end != nullptr) return keep_timed(profile, made, begin, end);
  return_event(profile, device_, begin);
  const bool has_events = runtime().events != nullptr;
  if (!has_events) {
    // Nothing else tells when the device did it. Without streams it was during the call.
    made.device_begin = made.host_begin;
    made.device_end = made.host_end;
  }
  keep(profile, made, /*is_lost=*/has_events);
}

void piece::drop() noexcept {
  const uint64_t profile = std::exchange(profile_, 0);
  if (profile == 0) return;
  if (std::exchange(number_, 0) != 0) return pop_number();
  return_event(profile, device_, std::exchange(begin_, nullptr));
}

void host_wait::begin(work kind, c10::DeviceIndex device, c10::StreamId stream) noexcept {
  if (is_in_bad_fork() || is_known_to_have_twin(device)) return;
  profile_ = detail::profile_now.load(std::memory_order_acquire);
  kind_ = kind;
  device_ = device;
  stream_ = stream;
  begin_ = host_now();
}

void host_wait::end() noexcept {
  const operator_place here = place_here(profile_);
  keep(profile_, {.kind = kind_,
                  .device = device_,
                  .stream = stream_,
                  .bytes = 0,
                  .name = nullptr,
                  .in_operator = here.in_operator,
                  .in_range = here.in_range,
                  .thread = thread_here(),
                  .host_begin = begin_,
                  .host_end = host_now(),
                  .device_begin = 0,
                  .device_end = 0});
}

begun_collective call_collective() noexcept {
  const uint64_t profile = detail::profile_now.load(std::memory_order_acquire);
  if (profile == 0 || is_in_bad_fork()) return {};
  const operator_place here = place_here(profile);
  return {profile, here.in_operator, here.in_range, thread_here(), host_now()};
}

void begin_collective(begun_collective& called) noexcept {
  if (called.profile != 0) called.begin = host_now();
}

void end_collective(const begun_collective& begun, c10::DeviceIndex device,
                    const char* name) noexcept {
  if (begun.profile == 0 || is_in_bad_fork()) return;
  const int64_t now = host_now();
  keep(begun.profile, {.kind = work::collective,
                       .device = device,
                       .stream = no_stream,
                       .bytes = 0,
                       .name = name,
                       .in_operator = begun.in_operator,
                       .in_range = begun.in_range,
                       .thread = begun.thread,
                       .host_begin = begun.begin,
                       .host_end = now,
                       .device_begin = begun.begin,
                       .device_end = now});
}

}  // namespace outback::core
