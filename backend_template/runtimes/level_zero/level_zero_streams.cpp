// The stream and event slots of the Level Zero runtime.
#include <chrono>
#include <memory>

#include "backend_template/runtimes/level_zero/event.hpp"
#include "backend_template/runtimes/level_zero/level_zero_runtime.hpp"

namespace outback::level_zero {
namespace {

int64_t steady_ns() {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

}  // namespace

command_queue& level_zero_runtime::queue_of(device& d, outback_stream handle) {
  if (handle == nullptr) return d.default_queue();
  const auto& given = *reinterpret_cast<const stream*>(handle);
  check_owner("stream", given.device, d.index());
  return *given.work;
}

outback_stream level_zero_runtime::stream_create(int32_t index, int32_t priority) {
  return on(index,
            [&](device& d) { return reinterpret_cast<outback_stream>(d.create_stream(priority)); });
}

void level_zero_runtime::stream_destroy(int32_t index, outback_stream handle) {
  on(index, [&](device& d) { d.destroy_stream(reinterpret_cast<const stream*>(handle)); });
}

bool level_zero_runtime::stream_query(int32_t index, outback_stream handle) {
  return on(index, [&](device& d) { return queue_of(d, handle).idle(); });
}

void level_zero_runtime::stream_sync(int32_t index, outback_stream handle) {
  on(index, [&](device& d) { queue_of(d, handle).sync(); });
}

priority_range level_zero_runtime::stream_priorities(int32_t index) {
  at(index);
  return {.least = least_priority, .greatest = greatest_priority};
}

event& level_zero_runtime::event_of(const device& d, outback_event handle) const {
  auto& given = *reinterpret_cast<event*>(handle);
  check_owner("event", given.device(), d.index());
  return given;
}

outback_event level_zero_runtime::event_create(int32_t index, uint32_t flags) {
  return on(index, [&](device& d) {
    const bool shared = (flags & OUTBACK_EVENT_INTERPROCESS) != 0;
    return reinterpret_cast<outback_event>(
        new event(d.index(), flags, shared ? std::make_shared<shared_recordings>() : nullptr));
  });
}

void level_zero_runtime::event_destroy(int32_t index, outback_event handle) {
  // Also of a lost device: nothing of the driver is called.
  delete &event_of(listed(index), handle);
}

void level_zero_runtime::event_record(int32_t index, outback_event handle, outback_stream where) {
  on(index, [&](device& d) {
    event& e = event_of(d, handle);
    command_queue& q = queue_of(d, where);
    if (e.shared() == nullptr) {
      // The host's clock is read too: the device's clock wraps, and the host's tells how often
      // (timer.hpp).
      return e.replace({q.record(e.timed()), e.timed() ? steady_ns() : 0});
    }
    // Other processes wait for a number as soon as it is taken. So it is taken only once nothing
    // can fail any more: completing it after a failure might block the caller.
    const auto number = std::make_shared<uint64_t>(0);
    q.enqueue_host_work([shared = e.shared(), number] { shared->complete(*number); },
                        [&] { *number = e.shared()->begin(); });
  });
}

void level_zero_runtime::event_wait(int32_t index, outback_event handle, outback_stream waiting) {
  on(index, [&](device& d) {
    // Not event_of: the event may belong to another device.
    const auto& e = *reinterpret_cast<const event*>(handle);
    command_queue& q = queue_of(d, waiting);
    if (e.shared() != nullptr) {
      const uint64_t number = e.shared()->last();
      if (e.shared()->done(number)) return;
      return q.enqueue_host_work([shared = e.shared(), number] { shared->wait(number); });
    }
    device& other = at(e.device());  // a lost one would never signal the event
    const event_ref signal = e.current().signal;
    if (!signal || blame(other, [&] { return signal.complete(); })) return;
    if (&other.of() == &d.of()) return blame(d, other, [&] { q.wait_for(signal); });
    // The event belongs to another driver, whose events this one cannot wait for. A thread of the
    // host waits instead.
    q.enqueue_host_work([&other, signal] {
      try {
        blame(other, [&] { host_worker::await(signal); });
      } catch (const device_lost& error) {
        // Not DEVICE_LOST, which would be said of the device that waits.
        throw runtime_error(OUTBACK_INTERNAL, "the stream waited for an event of device " +
                                                  std::to_string(other.index()) +
                                                  ", which was lost: " + error.what());
      }
    });
  });
}

bool level_zero_runtime::event_query(int32_t index, outback_event handle) {
  return on(index, [&](device& d) {
    const event& e = event_of(d, handle);
    if (e.shared() != nullptr) return e.shared()->done(e.shared()->last());
    const event_ref signal = e.current().signal;
    return !signal || signal.complete();
  });
}

void level_zero_runtime::event_sync(int32_t index, outback_event handle) {
  on(index, [&](device& d) {
    const event& e = event_of(d, handle);
    if (e.shared() != nullptr) return e.shared()->wait(e.shared()->last());
    if (const event_ref signal = e.current().signal) signal.wait();
  });
}

std::optional<int64_t> level_zero_runtime::event_elapsed(outback_event from_handle,
                                                         outback_event to_handle) {
  const auto& first = *reinterpret_cast<const event*>(from_handle);
  const auto& second = *reinterpret_cast<const event*>(to_handle);
  return on(first.device(), [&](device& d) -> std::optional<int64_t> {
    if (!first.timed() || !second.timed()) {
      throw invalid_argument("both events must be created with OUTBACK_EVENT_TIMING");
    }
    if (first.device() != second.device()) {
      throw invalid_argument("the events are of devices " + std::to_string(first.device()) +
                             " and " + std::to_string(second.device()) +
                             ", whose clocks have nothing to do with each other");
    }
    // Copies, so that a recording meanwhile does not take the events away.
    const recording from = first.current(), to = second.current();
    if (!from.signal || !to.signal) throw invalid_argument("both events must have been recorded");
    if (!from.signal.complete() || !to.signal.complete()) return std::nullopt;
    return d.facts().clock.elapsed(*from.signal->timestamp, *to.signal->timestamp,
                                   to.host_ns - from.host_ns);
  });
}

void* level_zero_runtime::native_event(int32_t index, outback_event handle) {
  return on(index, [&](device& d) -> void* {
    event& e = event_of(d, handle);
    if (e.shared() != nullptr) {
      throw unsupported("an event of several processes is none of the driver's");
    }
    // Notes that the device is in use: acquiring a pooled event makes the context.
    d.context();
    // An event that was never recorded counts as complete, so whoever waits for the handle must
    // wait for nothing.
    const pooled_event* const signal = e.native([&] {
      event_ref complete = d.of().events().acquire();
      complete.signal();
      return complete;
    });
    return signal->handle;
  });
}

}  // namespace outback::level_zero
