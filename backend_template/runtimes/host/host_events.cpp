// The event slots of the host runtime.
#include "backend_template/runtimes/host/event.hpp"
#include "backend_template/runtimes/host/host_runtime.hpp"

namespace outback::host {
namespace {

event& of(outback_event handle) {
  return *reinterpret_cast<event*>(handle);
}

}  // namespace

event& host_runtime::event_at(int32_t index, outback_event handle) const {
  at(index);
  event& e = of(handle);
  check_owner("event", e.device(), index);
  return e;
}

outback_event host_runtime::event_create(int32_t index, uint32_t flags) {
  at(index);
  const bool shared = (flags & OUTBACK_EVENT_INTERPROCESS) != 0;
  return reinterpret_cast<outback_event>(
      new event(index, flags, shared ? std::make_shared<shared_recordings>() : nullptr));
}

void host_runtime::event_destroy(int32_t index, outback_event handle) {
  // Pending work owns the event's mark, not the event, so deleting is safe at any time.
  delete &event_at(index, handle);
}

void host_runtime::event_record(int32_t index, outback_event handle, outback_stream where) {
  stream& s = stream_at(index, where);
  event_at(index, handle).record(s);
}

void host_runtime::event_wait(int32_t index, outback_event handle, outback_stream waiting) {
  // Not event_at: the event may belong to another device.
  of(handle).wait(stream_at(index, waiting));
}

bool host_runtime::event_query(int32_t index, outback_event handle) {
  return event_at(index, handle).query();
}

void host_runtime::event_sync(int32_t index, outback_event handle) {
  event_at(index, handle).sync();
}

std::optional<int64_t> host_runtime::event_elapsed(outback_event from, outback_event to) {
  return event::elapsed(of(from), of(to));
}

}  // namespace outback::host
