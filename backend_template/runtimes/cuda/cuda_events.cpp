// The event slots of the CUDA runtime.
#include <cmath>
#include <memory>

#include "backend_template/runtimes/cuda/cuda_runtime.hpp"
#include "backend_template/runtimes/cuda/current.hpp"

namespace outback::cuda {
namespace {

unsigned cuda_flags(uint32_t flags) {
  unsigned result = 0;
  if ((flags & OUTBACK_EVENT_TIMING) == 0) result |= cudaEventDisableTiming;
  if ((flags & OUTBACK_EVENT_BLOCKING) != 0) result |= cudaEventBlockingSync;
  if ((flags & OUTBACK_EVENT_INTERPROCESS) != 0) result |= cudaEventInterprocess;
  return result;
}

void check_timed(const event& e) {
  if ((e.flags & OUTBACK_EVENT_TIMING) != 0) return;
  throw invalid_argument("an event has no time: it was created without OUTBACK_EVENT_TIMING");
}

}  // namespace

event& cuda_runtime::event_at(device& d, outback_event handle) {
  auto& e = *reinterpret_cast<event*>(handle);
  check_owner("event", e.of->index(), d.index());
  return e;
}

outback_event cuda_runtime::event_create(int32_t index, uint32_t flags) {
  device& d = at(index);
  const on_device here(d);
  auto e = std::make_unique<event>(event{.of = &d, .handle = nullptr, .flags = flags});
  d.call(d.cuda().cudaEventCreateWithFlags, &e->handle, cuda_flags(flags));
  return reinterpret_cast<outback_event>(e.release());
}

void cuda_runtime::event_destroy(int32_t index, outback_event handle) {
  device& d = listed(index);
  event& e = event_at(d, handle);
  if (d.lost()) {
    // The objects of a lost context cannot be destroyed by CUDA any more; ours is gone all the
    // same.
    delete &e;
    d.check_not_lost();
  }
  const on_device here(d);
  const std::unique_ptr<event> gone(&e);  // also if CUDA returns an error of earlier work
  d.call(d.cuda().cudaEventDestroy, e.handle);
}

void cuda_runtime::event_record(int32_t index, outback_event handle, outback_stream where) {
  device& d = at(index);
  const event& e = event_at(d, handle);
  const on_device here(d);
  d.call(d.cuda().cudaEventRecord, e.handle, stream_at(d, where).handle);
}

void cuda_runtime::event_wait(int32_t index, outback_event handle, outback_stream waiting) {
  device& d = at(index);
  // Not event_at: the event may belong to another device.
  const auto& e = *reinterpret_cast<event*>(handle);
  e.of->check_not_lost();  // or the stream might wait for ever
  const on_device here(d);
  const stream& s = stream_at(d, waiting);
  const cudaError_t error = d.cuda().cudaStreamWaitEvent(s.handle, e.handle, 0);
  if (error == cudaSuccess) [[likely]]
    return;
  if (error == cudaErrorStreamCaptureMerge) {
    // An event of one capture and a stream of another: the contract breaks both. To ask about
    // something that is in a capture is what breaks it.
    d.cuda().cudaEventQuery(e.handle);
    d.cuda().cudaStreamQuery(s.handle);
  }
  d.fail(error, d.cuda().cudaStreamWaitEvent.name);
}

bool cuda_runtime::event_query(int32_t index, outback_event handle) {
  device& d = at(index);
  const event& e = event_at(d, handle);
  // CUDA refuses a query as unsafe while some thread captures in the global mode.
  const beside_captures here(d);
  return d.query(d.cuda().cudaEventQuery, e.handle);
}

void cuda_runtime::event_sync(int32_t index, outback_event handle) {
  device& d = at(index);
  const event& e = event_at(d, handle);
  const beside_captures here(d);
  d.call(d.cuda().cudaEventSynchronize, e.handle);
}

std::optional<int64_t> cuda_runtime::event_elapsed(outback_event from, outback_event to) {
  usable();
  const auto& first = *reinterpret_cast<event*>(from);
  const auto& last = *reinterpret_cast<event*>(to);
  device& d = *last.of;
  first.of->check_not_lost();
  d.check_not_lost();
  check_timed(first), check_timed(last);
  const on_device here(d);
  float milliseconds = 0;
  const auto& elapsed_time = d.cuda().cudaEventElapsedTime;
  const cudaError_t error = elapsed_time(&milliseconds, first.handle, last.handle);
  if (error == cudaErrorNotReady) {
    d.cuda().cudaGetLastError();
    return std::nullopt;
  }
  // CUDA's own words do not say which of its three conditions was missed.
  if (error == cudaErrorInvalidResourceHandle) {
    d.fail(error, elapsed_time.name,
           ": both events have to be recorded, outside of captures and on the same device");
  }
  if (error != cudaSuccess) d.fail(error, elapsed_time.name);
  return std::llround(double(milliseconds) * 1e6);
}

}  // namespace outback::cuda
