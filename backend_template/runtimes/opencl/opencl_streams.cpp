// The stream and event slots of the OpenCL runtime.
#include <string>

#include "backend_template/runtimes/opencl/event.hpp"
#include "backend_template/runtimes/opencl/opencl_runtime.hpp"

namespace outback::opencl {

command_queue& opencl_runtime::queue_of(device& d, outback_stream handle) {
  if (handle == nullptr) return d.default_queue();
  const auto& given = *reinterpret_cast<const stream*>(handle);
  check_owner("stream", given.device, d.index());
  return *given.work;
}

outback_stream opencl_runtime::stream_create(int32_t index, int32_t priority) {
  return reinterpret_cast<outback_stream>(at(index).create_stream(priority));
}

void opencl_runtime::stream_destroy(int32_t index, outback_stream handle) {
  at(index).destroy_stream(reinterpret_cast<const stream*>(handle));
}

bool opencl_runtime::stream_query(int32_t index, outback_stream handle) {
  return queue_of(at(index), handle).idle();
}

void opencl_runtime::stream_sync(int32_t index, outback_stream handle) {
  queue_of(at(index), handle).sync();
}

priority_range opencl_runtime::stream_priorities(int32_t index) {
  device& d = at(index);
  return {.least = d.least_priority(), .greatest = d.greatest_priority()};
}

event& opencl_runtime::event_of(int32_t index, outback_event handle) const {
  auto& given = *reinterpret_cast<event*>(handle);
  check_owner("event", given.device(), index);
  return given;
}

outback_event opencl_runtime::event_create(int32_t index, uint32_t flags) {
  at(index);
  if ((flags & OUTBACK_EVENT_INTERPROCESS) != 0) {
    if ((flags & OUTBACK_EVENT_TIMING) != 0) {
      throw invalid_argument("an event is either interprocess or has times");
    }
    throw unsupported("OpenCL has no events of several processes");
  }
  return reinterpret_cast<outback_event>(new event(index, flags));
}

void opencl_runtime::event_destroy(int32_t index, outback_event handle) {
  at(index);
  delete &event_of(index, handle);
}

void opencl_runtime::event_record(int32_t index, outback_event handle, outback_stream where) {
  device& d = at(index);
  event& e = event_of(index, handle);
  command_queue& q = queue_of(d, where);
  e.replace(e.timed() ? q.mark() : q.last());
}

void opencl_runtime::event_wait(int32_t index, outback_event handle, outback_stream waiting) {
  device& d = at(index);
  // Not event_of: the event may belong to another device.
  const auto& e = *reinterpret_cast<const event*>(handle);
  command_queue& q = queue_of(d, waiting);
  const event_ref signal = e.current();
  if (signal) q.wait_for(signal, &at(e.device()).of() == &d.of());
}

bool opencl_runtime::event_query(int32_t index, outback_event handle) {
  at(index);
  const event_ref signal = event_of(index, handle).current();
  return !signal || signal.over();
}

void opencl_runtime::event_sync(int32_t index, outback_event handle) {
  at(index);
  if (const event_ref signal = event_of(index, handle).current()) signal.wait();
}

std::optional<int64_t> opencl_runtime::event_elapsed(outback_event from_handle,
                                                     outback_event to_handle) {
  const auto& first = *reinterpret_cast<const event*>(from_handle);
  const auto& second = *reinterpret_cast<const event*>(to_handle);
  at(first.device());
  if (!first.timed() || !second.timed()) {
    throw invalid_argument("both events must be created with OUTBACK_EVENT_TIMING");
  }
  if (first.device() != second.device()) {
    throw invalid_argument("the events are of devices " + std::to_string(first.device()) + " and " +
                           std::to_string(second.device()) +
                           ", whose clocks have nothing to do with each other");
  }
  const event_ref from = first.current(), to = second.current();
  if (!from || !to) throw invalid_argument("both events must have been recorded");
  if (!from.over() || !to.over()) return std::nullopt;
  cl_ulong begin = 0, end = 0;
  if (!from.time(CL_PROFILING_COMMAND_END, begin) || !to.time(CL_PROFILING_COMMAND_END, end)) {
    throw unsupported(
        "the driver has no times for the events: a queue that other code made needs "
        "CL_QUEUE_PROFILING_ENABLE");
  }
  return int64_t(end - begin);
}

void* opencl_runtime::native_event(int32_t index, outback_event handle) {
  device& d = at(index);
  const driver_api& api = d.of().api();
  return event_of(index, handle).native([&] {
    event_ref complete(api, make(api.clCreateUserEvent, d.context()));
    call(api.clSetUserEventStatus, complete.get(), cl_int{CL_COMPLETE});
    return complete;
  });
}

}  // namespace outback::opencl
