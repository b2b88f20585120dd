#include "backend_template/core/streams/stream.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

#include "backend_template/core/captures/capture.h"
#include "backend_template/core/devices/host_failure.h"
#include "backend_template/core/devices/lazy_start.h"
#include "backend_template/core/runtime/format.h"
#include "backend_template/core/runtime/interpreter_lock.h"
#include "backend_template/core/runtime/runtime.h"
#include "backend_template/core/runtime/torch_version.h"
#include "backend_template/core/streams/kernel_faults.h"
#include "backend_template/core/streams/observed.h"
#include "backend_template/core/streams/stream_pool.h"
#include "backend_template/core/streams/twin_stream.h"
#include "backend_template/core/timeline/timeline.h"
#include "backend_template/core/twin/twin.h"

namespace outback::core {
namespace {

// The current stream's id by device. Zero, and so the default stream, in a new thread.
thread_local std::array<c10::StreamId, max_devices> current_ids;

void refuse_if_captured(const c10::Stream& stream) {
  const auto open = capture_of(stream);
  if (C10_LIKELY(open == nullptr)) return;
  refuse_in_capture(
      open.get(),
      "the host cannot wait for a stream whose work is recorded and not run. item(), "
      "copies to pageable memory, and kernels that run on the host do so, as those that "
      "torch.compile makes for the CPU's memory");
}

// True if the stream is current on its device, in the calling thread. Not for a device with a twin,
// where the twin's library knows.
bool is_current(const c10::Stream& stream) {
  const c10::DeviceIndex device = stream.device_index();
  return stream.device_type() == device_type && device >= 0 && device < device_count() &&
         is_known_to_have_no_twin(device) && current_ids[device] == stream.id();
}

// Before the start the default stream is current.
C10_NOINLINE c10::Stream current_stream_of_any(c10::DeviceIndex index) {
  if (const auto twin = started_twin_of(index)) {
    return make_stream(index, guard_of(*twin).getStream(*twin).id());
  }
  return make_stream(index, current_ids[index]);
}

void wait_for(stream_state& state, const c10::Stream& stream) {
  refuse_if_captured(stream);
  const c10::DeviceIndex device = stream.device_index();
  const observed_wait waiting(work::stream_wait, device, stream.id());
  fault_check faults(state);
  // Read before the wait: what other threads enqueue meanwhile may not be done after it.
  const uint64_t count = state.enqueued.load(std::memory_order_acquire);
  const auto sync = [&] { return runtime().streams->sync(runtime().self, device, state.handle); };
  const auto sync_all = [&] { return runtime().device_sync(runtime().self, device); };
  if (runtime().streams != nullptr) {
    check(unlocked(sync), "streams.sync", device);
  } else {
    check(unlocked(sync_all), "device_sync", device);
  }
  state.mark_completed(count);
  // Last, since they may throw, and the stream has been waited for all the same.
  check_host_failure(device);
  faults.after_wait(device);
}

void wait_for_twins(const c10::Stream& theirs, c10::DeviceIndex device) {
  const observed_wait waiting(work::stream_wait, device, theirs.id());
  unlocked([&] { guard_of(theirs.device()).synchronizeStream(theirs); });
  check_host_failure(device);
}

}  // namespace

c10::Stream default_stream(c10::DeviceIndex device) {
  const c10::DeviceIndex index = resolve_index(device);
  if (const auto twin = started_twin_of(index)) {
    return make_stream(index, guard_of(*twin).getDefaultStream(*twin).id());
  }
  return make_stream(index, 0);
}

c10::Stream current_stream(c10::DeviceIndex device) {
  const c10::DeviceIndex index = resolve_index(device);
  if (C10_UNLIKELY(!is_known_to_have_no_twin(index))) return current_stream_of_any(index);
  return make_stream(index, current_ids[index]);
}

c10::StreamId current_stream_id(c10::DeviceIndex device) noexcept {
  return current_ids[device];
}

c10::Stream exchange_stream(c10::Stream stream) {
  // Autograd calls this twice for each node, and nearly always it is so.
  if (C10_LIKELY(is_current(stream))) return stream;
  if (const auto theirs = twins_stream(stream)) {
    const c10::Stream before = guard_of(theirs->device()).exchangeStream(*theirs);
    return make_stream(stream.device_index(), before.id());
  }
  state_of(stream);
  c10::StreamId& current = current_ids[stream.device_index()];
  const c10::Stream before = make_stream(stream.device_index(), current);
  current = stream.id();
  return before;
}

replaced_streams make_current(const c10::Stream& stream) {
  const c10::Stream here = current_stream(-1);
  const c10::Stream there = exchange_stream(stream);
  // The device comes second, since only it asks the driver: undoing the stream cannot fail.
  try {
    set_device(stream.device_index());
  } catch (...) {
    exchange_stream(there);
    throw;
  }
  return {here, there};
}

void restore(const replaced_streams& before) {
  // As torch.cuda.StreamContext does, put both back: code in between may have replaced either one.
  exchange_stream(before.there);
  exchange_stream(before.here);
  set_device_unchecked(before.here.device_index());
}

outback_stream handle_of(const c10::Stream& stream) {
  if (const auto theirs = twins_stream(stream)) return wrap(*theirs, stream.device_index());
  return state_of(stream).handle;
}

void mark_busy(const c10::Stream& stream) {
  if (twins_stream(stream)) return;
  state_of(stream).enqueued.fetch_add(1, std::memory_order_release);
}

void drain(c10::DeviceIndex device) {
  ensure_started();
  if (C10_UNLIKELY(!is_known_to_have_no_twin(device))) {
    if (const auto twin = twin_of(device)) {
      return wait_for_twins(guard_of(*twin).getStream(*twin), device);
    }
  }
  device_streams& streams = streams_of(device);
  const c10::StreamId id = current_ids[device];
  // Not by `find`: a current id is always valid, and this runs before every CPU kernel.
  stream_state* state = C10_LIKELY(id == 0) ? &streams.default_stream
                                            : streams.pool[id - 1].load(std::memory_order_acquire);
  if (C10_UNLIKELY(!state->idle())) wait_for(*state, make_stream(device, id));
  note_in_place(device, id);
}

void refuse_wait_in_capture(c10::DeviceIndex device) {
  if (any_capture(device)) refuse_if_captured(current_stream(device));
}

bool query_stream(const c10::Stream& stream) {
  if (const auto theirs = twins_stream(stream)) {
    const bool ready = guard_of(theirs->device()).queryStream(*theirs);
    if (ready) check_host_failure(stream.device_index());
    return ready;
  }
  stream_state& state = state_of(stream);
  // Without streams every call is synchronous; before the start there is no work.
  if (runtime().streams == nullptr || !is_started()) return true;
  refuse_if_captured(stream);
  const uint64_t count = state.enqueued.load(std::memory_order_acquire);
  const bool ready =
      check_ready(runtime().streams->query(runtime().self, stream.device_index(), state.handle),
                  "streams.query", stream.device_index());
  if (ready) {
    state.mark_completed(count);
    check_host_failure(stream.device_index());
  }
  return ready;
}

void synchronize_stream(const c10::Stream& stream) {
  if (const auto theirs = twins_stream(stream)) {
    return wait_for_twins(*theirs, stream.device_index());
  }
  stream_state& state = state_of(stream);
  ensure_started();
  wait_for(state, stream);
}

void synchronize_device(c10::DeviceIndex device) {
  const c10::DeviceIndex index = resolve_index(device);
  ensure_started();
  // If the twin is not known yet, nothing of it was used by way of this device.
  if (const auto twin = is_known_to_have_twin(index) ? twin_of(index) : std::nullopt) {
    const observed_wait waiting(work::device_wait, index);
    unlocked([&] { guard_of(*twin).synchronizeDevice(twin->index()); });
    return check_host_failure(index);
  }
  if (const auto open = capture_on(index)) {
    refuse_in_capture(open.get(),
                      "the host cannot wait for a device while one of its streams is "
                      "captured");
  }
  // Only the default stream's count is brought up to date. Other streams ask the runtime once more,
  // at their next wait or query.
  const observed_wait waiting(work::device_wait, index);
  fault_check faults(index);
  device_streams& streams = streams_of(index);
  const uint64_t count = streams.default_stream.enqueued.load(std::memory_order_acquire);
  const auto sync = [&] { return runtime().device_sync(runtime().self, index); };
  check(unlocked(sync), "device_sync", index);
  streams.default_stream.mark_completed(count);
  check_host_failure(index);
  faults.after_wait(index);
}

bool query_device(c10::DeviceIndex device) {
  device_streams& streams = streams_of(device);
  if (!query_stream(make_stream(device, 0))) return false;
  for (c10::StreamId id = 1; id < max_streams; ++id) {
    const bool there = streams.pool[id - 1].load(std::memory_order_acquire) != nullptr;
    if (there && !query_stream(make_stream(device, id))) return false;
  }
  return true;
}

std::vector<known_stream> known_streams(c10::DeviceIndex device) {
  device_streams& streams = streams_of(device);
  std::vector<known_stream> all{{0, streams.default_stream.handle}};
  for (c10::StreamId id = 1; id < max_streams; ++id) {
    const stream_state* there = streams.pool[id - 1].load(std::memory_order_acquire);
    if (there != nullptr) all.push_back({id, there->handle});
  }
  return all;
}

outback_capture capture_status(const c10::Stream& stream) {
#if OUTBACK_TORCH_AT_LEAST(2, 12)
  if (const auto theirs = twins_stream(stream)) {
    const bool captures = guard_of(theirs->device()).isStreamCapturing(*theirs);
    return captures ? OUTBACK_CAPTURE_ACTIVE : OUTBACK_CAPTURE_NONE;
  }
#endif
  const outback_graphs* graphs = runtime().graphs;
  if (graphs == nullptr || !is_started()) return OUTBACK_CAPTURE_NONE;
  const c10::DeviceIndex device = stream.device_index();
  const outback_stream handle = handle_of(stream);
  const auto status = answer_of<outback_capture>(
      [&](outback_capture* to) { return graphs->status(runtime().self, device, handle, to); },
      "capture", "graphs.status", device);
  if (C10_UNLIKELY(status < OUTBACK_CAPTURE_NONE || status > OUTBACK_CAPTURE_BROKEN)) {
    blame(core::format("made *capture {}, which there is not", status), "graphs.status", device);
  }
  return status;
}

bool is_idle(const c10::Stream& stream) noexcept {
  const stream_state* state = find_stream(stream);
  const c10::DeviceIndex device = stream.device_index();
  if (stream.device_type() == device_type && device >= 0 && is_known_to_have_twin(device)) {
    return false;
  }
  return state == nullptr || state->idle();
}

bool is_done(const c10::Stream& stream) {
  if (C10_LIKELY(is_idle(stream))) return true;
  const stream_state* state = find_stream(stream);
  const c10::DeviceIndex device = stream.device_index();
  const outback_streams* streams = runtime().streams;
  if (state == nullptr || state->is_external || streams == nullptr || !is_started() ||
      is_known_to_have_twin(device) || any_capture(device) ||
      capture_status(stream) != OUTBACK_CAPTURE_NONE) {
    return false;
  }
  return check_ready(streams->query(runtime().self, device, state->handle), "streams.query",
                     device);
}

}  // namespace outback::core
