#include "backend_template/core/timeline/device_clock.h"

#include <c10/util/ApproximateClock.h>

#include <chrono>
#include <cmath>
#include <limits>

#include "backend_template/core/runtime/interpreter_lock.h"
#include "backend_template/core/runtime/runtime.h"

namespace outback::core {
namespace {

constexpr int tries = 4;
// An idle stream needs microseconds. Beyond this, something else keeps the device busy.
constexpr int64_t longest_spin_ns = 2'000'000;
// Over a shorter time the two looks' own errors are larger than any drift.
constexpr int64_t shortest_for_drift_ns = 20'000'000;
constexpr double largest_drift = 1e-3;

// Waits without sleeping, since the time of the waking would be an error of the clock.
bool wait_for_event(c10::DeviceIndex device, outback_event event, int64_t begin) {
  const outback_events& events = *runtime().events;
  for (;;) {
    const outback_status status = events.query(runtime().self, device, event);
    if (status == OUTBACK_OK) return true;
    if (status != OUTBACK_NOT_READY) return false;
    if (host_now() - begin > longest_spin_ns) break;
  }
  return unlocked([&] { return events.sync(runtime().self, device, event); }) == OUTBACK_OK;
}

}  // namespace

int64_t host_now() noexcept {
  return c10::getTime();
}

double rate_between(int64_t on_host, int64_t on_device) noexcept {
  if (on_device < shortest_for_drift_ns) return 1;
  const double rate = static_cast<double>(on_host) / static_cast<double>(on_device);
  return std::abs(rate - 1) < largest_drift ? rate : 1;
}

outback_event make_timed_event(c10::DeviceIndex device) noexcept {
  outback_event made = nullptr;
  const outback_events& events = *runtime().events;
  const bool ok = events.create(runtime().self, device, OUTBACK_EVENT_TIMING, &made) == OUTBACK_OK;
  return ok ? made : nullptr;
}

void destroy_timed_event(c10::DeviceIndex device, outback_event made) noexcept {
  // The status is ignored: the event is of no more use in any case.
  if (made != nullptr) runtime().events->destroy(runtime().self, device, made);
}

std::optional<int64_t> elapsed_between(outback_event from, outback_event to) noexcept {
  constexpr int64_t unwritten = std::numeric_limits<int64_t>::min();
  int64_t ns = unwritten;
  if (runtime().events->elapsed(runtime().self, from, to, &ns) != OUTBACK_OK || ns == unwritten) {
    return std::nullopt;
  }
  return ns;
}

bool device_clock::look(c10::DeviceIndex device, outback_event* event, int64_t* host) noexcept {
  const outback_events& events = *runtime().events;
  int64_t narrowest = std::numeric_limits<int64_t>::max();
  for (int i = 0; i < tries; ++i) {
    const outback_event made = make_timed_event(device);
    if (made == nullptr) break;
    const int64_t before = host_now();
    const bool is_done = events.record(runtime().self, device, made, stream_) == OUTBACK_OK &&
                         wait_for_event(device, made, before);
    const int64_t width = host_now() - before;
    if (!is_done || width >= narrowest) {
      destroy_timed_event(device, made);
      if (is_done) continue;
      break;
    }
    destroy_timed_event(device, *event);
    narrowest = width;
    *event = made;
    *host = before + width / 2;
  }
  return *event != nullptr;
}

void device_clock::start(c10::DeviceIndex device) noexcept {
  state expected = unknown;
  if (!state_.compare_exchange_strong(expected, starting, std::memory_order_acq_rel)) return;
  const outback_streams* streams = runtime().streams;
  // Without one of its own, the clock looks at the default stream.
  if (streams->create(runtime().self, device, 0, &stream_) != OUTBACK_OK) stream_ = nullptr;
  const bool is_known = look(device, &first_, &first_host_);
  state_.store(is_known ? known : failed, std::memory_order_release);
}

void device_clock::finish(c10::DeviceIndex device) noexcept {
  outback_event last = nullptr;
  int64_t last_host = 0;
  if (look(device, &last, &last_host)) {
    const std::optional<int64_t> passed = since_start(last);
    if (passed) rate_ = rate_between(last_host - first_host_, *passed);
  }
  destroy_timed_event(device, last);
}

std::optional<int64_t> device_clock::since_start(outback_event event) const noexcept {
  return elapsed_between(first_, event);
}

int64_t device_clock::on_host(int64_t since_start) const noexcept {
  return first_host_ + std::llround(static_cast<double>(since_start) * rate_);
}

void device_clock::reset(c10::DeviceIndex device) noexcept {
  if (first_ != nullptr) destroy_timed_event(device, first_);
  if (stream_ != nullptr) runtime().streams->destroy(runtime().self, device, stream_);
  forget();
}

void device_clock::forget() noexcept {
  stream_ = nullptr;
  first_ = nullptr;
  rate_ = 1;
  state_.store(unknown, std::memory_order_release);
}

}  // namespace outback::core
