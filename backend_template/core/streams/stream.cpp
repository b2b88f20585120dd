#include "backend_template/core/streams/stream.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <mutex>

#include "backend_template/core/captures/capture.h"
#include "backend_template/core/devices/lazy_start.h"
#include "backend_template/core/runtime/format.h"
#include "backend_template/core/runtime/interpreter_lock.h"
#include "backend_template/core/runtime/runtime.h"
#include "backend_template/core/runtime/torch_version.h"
#include "backend_template/core/streams/host_failure.h"
#include "backend_template/core/streams/twin_stream.h"
#include "backend_template/core/twin/twin.h"
#include "outback/layers.hpp"

namespace outback::core {
namespace {

// As many as torch.cuda has in the pool of a priority.
constexpr int streams_per_priority = 32;
constexpr int max_priorities = 8;
constexpr int max_pooled = max_priorities * streams_per_priority;
constexpr int max_external = 1024;
constexpr int max_streams = 1 + max_pooled + max_external;

// One stream of the runtime. It is never destroyed, since a c10::Stream, and so torch.Stream, is an
// id and does not own its stream.
struct stream_state {
  outback_stream handle = nullptr;
  // How often work was put on the stream, counted after each slot that did so; and how much of that
  // is known to be done. The stream is idle if both are equal.
  std::atomic<uint64_t> enqueued{0};
  std::atomic<uint64_t> completed{0};
  // An external stream: others put work there too, which is not counted. Written before the stream
  // is given out, so it needs no atomic.
  bool is_external = false;

  // False while the stream is in a capture, where it has work that nobody may wait for.
  bool idle() const noexcept {
    return !is_external &&
           completed.load(std::memory_order_acquire) >= enqueued.load(std::memory_order_acquire);
  }

  // `count` is `enqueued` as it was read before the wait or the query began. Work that another
  // thread has enqueued since keeps the stream busy. The loop never lowers `completed`.
  void mark_completed(uint64_t count) noexcept {
    uint64_t seen = completed.load(std::memory_order_relaxed);
    while (seen < count &&
           !completed.compare_exchange_weak(seen, count, std::memory_order_release)) {
    }
  }
};

struct device_streams {
  // The priority range as one number: the least times max_priorities, minus the greatest. Below 0
  // until the runtime was asked.
  std::atomic<int> priorities{-1};
  std::mutex create_mutex;
  stream_state default_stream;
  // By id - 1. First the pooled streams: the level of the priority, from the least urgent one on,
  // times streams_per_priority, plus the place in that level. Then the external streams.
  std::array<std::atomic<stream_state*>, max_streams - 1> pool{};
  std::array<std::atomic<uint32_t>, max_priorities> next{};
  std::map<void*, c10::StreamId> external;  // by the driver's handle; guarded by create_mutex
};

// Never destroyed, with all they hold: the destructors of tensors use streams after main().
device_streams& streams_of(c10::DeviceIndex device) {
  static auto& all = *new std::array<std::atomic<device_streams*>, max_devices>{};
  auto& slot = all[device];
  device_streams* streams = slot.load(std::memory_order_acquire);
  if (C10_LIKELY(streams != nullptr)) return *streams;
  auto made = std::make_unique<device_streams>();
  // If another thread was quicker, `streams` is that thread's object now, and `made` dies.
  if (slot.compare_exchange_strong(streams, made.get(), std::memory_order_acq_rel))
    streams = made.release();
  return *streams;
}

// The current stream's id by device. Zero, and so the default stream, in a new thread.
thread_local std::array<c10::StreamId, max_devices> current_ids;

c10::Stream make_stream(c10::DeviceIndex device, c10::StreamId id) {
  return c10::Stream(c10::Stream::UNSAFE, c10::Device(device_type, device), id);
}

// Returns the state of a stream, or null if it is not a stream of this backend that was given out.
stream_state* find(const c10::Stream& stream) noexcept {
  const c10::DeviceIndex device = stream.device_index();
  if (stream.device_type() != device_type || device < 0 || device >= device_count()) return nullptr;
  const c10::StreamId id = stream.id();
  if (C10_LIKELY(id == 0)) return &streams_of(device).default_stream;
  if (id < 0 || id >= max_streams) return nullptr;
  return streams_of(device).pool[id - 1].load(std::memory_order_acquire);
}

// Blames a runtime whose new stream has the handle of another one: the two torch streams would not
// be independent of each other. Call it with create_mutex held.
void check_new(const device_streams& streams, outback_stream handle, const char* slot,
               c10::DeviceIndex device) {
  for (const auto& each : streams.pool) {
    const stream_state* there = each.load(std::memory_order_relaxed);
    if (there == nullptr || there->handle != handle) continue;
    blame(core::format("made *stream {:#x}, a stream that is there already",
                       reinterpret_cast<uintptr_t>(handle)),
          slot, device);
  }
}

stream_state& state_of(const c10::Stream& stream) {
  stream_state* state = find(stream);
  TORCH_CHECK(state != nullptr, stream, " is not a stream of ", backend_name(),
              ": its id was never given out on that device");
  return *state;
}

// As device_streams::priorities. Of more of them than there are pools, the most urgent ones that
// still have 0 among them.
int ask_priorities(c10::DeviceIndex device) {
  constexpr const char* slot = "streams.priorities";
  constexpr int32_t unwritten = std::numeric_limits<int32_t>::min();
  int32_t least = unwritten;
  int32_t greatest = unwritten;
  check(runtime().streams->priorities(runtime().self, device, &least, &greatest), slot, device);
  check_written(least, unwritten, "least", slot, device);
  check_written(greatest, unwritten, "greatest", slot, device);
  if (C10_UNLIKELY(least < 0 || greatest > 0)) {
    blame(core::format("made *least {} and *greatest {}: expected *least >= 0 >= *greatest", least,
                       greatest),
          slot, device);
  }
  greatest = std::max(greatest, 1 - max_priorities);
  least = std::min(least, greatest + max_priorities - 1);
  return least * max_priorities - greatest;
}

void refuse_if_captured(const c10::Stream& stream) {
  const auto open = capture_of(stream);
  if (C10_LIKELY(open == nullptr)) return;
  refuse_in_capture(open.get(),
                    "the host cannot wait for a stream whose work is recorded and not run. item(), "
                    "copies to pageable memory, and kernels that run on the host do so");
}

void wait_for(stream_state& state, const c10::Stream& stream) {
  refuse_if_captured(stream);
  const c10::DeviceIndex device = stream.device_index();
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
  // Last, since it may throw, and the stream has been waited for all the same.
  check_host_failure(device);
}

void wait_for_twins(const c10::Stream& theirs, c10::DeviceIndex device) {
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
  if (const auto twin = started_twin_of(index)) {
    return make_stream(index, guard_of(*twin).getStream(*twin).id());
  }
  return make_stream(index, current_ids[index]);
}

c10::StreamId current_stream_id(c10::DeviceIndex device) noexcept {
  return current_ids[device];
}

c10::Stream exchange_stream(c10::Stream stream) {
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

std::pair<int, int> priority_range(c10::DeviceIndex device) {
  if (runtime().streams == nullptr) return {0, 0};
  // Once a device: a stream's id says its priority as long as the process runs.
  std::atomic<int>& known = streams_of(device).priorities;
  int range = known.load(std::memory_order_relaxed);
  if (range < 0) {
    const int asked = ask_priorities(device);
    if (known.compare_exchange_strong(range, asked, std::memory_order_relaxed)) range = asked;
  }
  return {range / max_priorities, -(range % max_priorities)};
}

c10::Stream new_stream(c10::DeviceIndex device, int priority) {
  ensure_started();
  const c10::DeviceIndex index = resolve_index(device);
  if (const auto twin = twin_of(index)) {
    return make_stream(index, guard_of(*twin).getNewStream(*twin, priority).id());
  }
  const outback_streams* group = runtime().streams;
  if (group == nullptr) return make_stream(index, 0);

  const auto [least, greatest] = priority_range(index);
  const int clamped = std::clamp(priority, greatest, least);
  const int level = least - clamped;  // 0 is the least urgent priority
  device_streams& streams = streams_of(index);
  // In turn: when the pool of a priority is full, its streams are shared, as in torch.cuda.
  const uint32_t turn = streams.next[level].fetch_add(1, std::memory_order_relaxed);
  const c10::StreamId id = 1 + level * streams_per_priority + turn % streams_per_priority;
  std::atomic<stream_state*>& slot = streams.pool[id - 1];
  if (slot.load(std::memory_order_acquire) != nullptr) return make_stream(index, id);

  // No lock is held around the driver, which may take long. Of two threads that make a stream for
  // one place, the second gives its stream back.
  auto made = std::make_unique<stream_state>();
  check(group->create(runtime().self, index, clamped, &made->handle), "streams.create", index);
  check_made(made->handle, "stream", "streams.create", index);
  std::unique_lock<std::mutex> lock(streams.create_mutex);
  check_new(streams, made->handle, "streams.create", index);
  if (slot.load(std::memory_order_relaxed) == nullptr) {
    // Tells the validation layer that this stream is no leak.
    layers::keep_until_exit(made->handle);
    slot.store(made.release(), std::memory_order_release);
    return make_stream(index, id);
  }
  lock.unlock();
  check(group->destroy(runtime().self, index, made->handle), "streams.destroy", index);
  return make_stream(index, id);
}

c10::Stream pool_stream(c10::DeviceIndex device, bool high_priority) {
  ensure_started();
  const c10::DeviceIndex index = resolve_index(device);
  if (const auto twin = twin_of(index)) {
    return make_stream(index, guard_of(*twin).getStreamFromGlobalPool(*twin, high_priority).id());
  }
  return new_stream(index, high_priority ? priority_range(index).second : 0);
}

c10::Stream external_stream(c10::DeviceIndex device, void* native,
                            const std::function<void(outback_stream*)>& wrap) {
  ensure_started();
  const c10::DeviceIndex index = resolve_index(device);
  device_streams& streams = streams_of(index);
  const auto known = [&]() -> c10::StreamId {
    const auto found = streams.external.find(native);
    return found == streams.external.end() ? 0 : found->second;
  };
  std::unique_lock<std::mutex> lock(streams.create_mutex);
  if (const c10::StreamId id = known(); id != 0) return make_stream(index, id);
  TORCH_CHECK(streams.external.size() < max_external, backend_name(), ": device ",
              static_cast<int>(index), " has ", max_external,
              " external streams already, which is the most there can be");
  lock.unlock();

  // As in new_stream, no lock is held around the driver. So the map and its size are looked at
  // again afterwards.
  auto made = std::make_unique<stream_state>();
  made->is_external = true;
  wrap(&made->handle);
  lock.lock();
  const bool full = streams.external.size() >= max_external;
  if (const c10::StreamId id = known(); id != 0 || full) {
    lock.unlock();
    check(runtime().streams->destroy(runtime().self, index, made->handle), "streams.destroy",
          index);
    TORCH_CHECK(id != 0, backend_name(), ": too many external streams");
    return make_stream(index, id);
  }
  const auto id = static_cast<c10::StreamId>(1 + max_pooled + streams.external.size());
  layers::keep_until_exit(made->handle);
  streams.external.emplace(native, id);
  streams.pool[id - 1].store(made.release(), std::memory_order_release);
  return make_stream(index, id);
}

int priority_of(const c10::Stream& stream) {
  if (twins_stream(stream)) return 0;
  state_of(stream);
  if (stream.id() == 0 || stream.id() > max_pooled) return 0;
  const int level = static_cast<int>(stream.id() - 1) / streams_per_priority;
  return priority_range(stream.device_index()).first - level;
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
  if (const auto twin = twin_of(device)) {
    return wait_for_twins(guard_of(*twin).getStream(*twin), device);
  }
  device_streams& streams = streams_of(device);
  const c10::StreamId id = current_ids[device];
  // Not by `find`: a current id is always valid, and this runs before every CPU kernel.
  stream_state* state = C10_LIKELY(id == 0) ? &streams.default_stream
                                            : streams.pool[id - 1].load(std::memory_order_acquire);
  if (C10_LIKELY(state->idle())) return;
  wait_for(*state, make_stream(device, id));
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
  device_streams& streams = streams_of(index);
  const uint64_t count = streams.default_stream.enqueued.load(std::memory_order_acquire);
  const auto sync = [&] { return runtime().device_sync(runtime().self, index); };
  check(unlocked(sync), "device_sync", index);
  streams.default_stream.mark_completed(count);
  check_host_failure(index);
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
  const stream_state* state = find(stream);
  const c10::DeviceIndex device = stream.device_index();
  if (stream.device_type() == device_type && device >= 0 && is_known_to_have_twin(device)) {
    return false;
  }
  return state == nullptr || state->idle();
}

}  // namespace outback::core
