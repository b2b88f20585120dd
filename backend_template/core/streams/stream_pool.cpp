#include "backend_template/core/streams/stream_pool.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "backend_template/core/devices/lazy_start.h"
#include "backend_template/core/runtime/format.h"
#include "backend_template/core/runtime/runtime.h"
#include "backend_template/core/streams/stream.h"
#include "backend_template/core/streams/twin_stream.h"
#include "backend_template/core/twin/twin.h"
#include "outback/layers.hpp"

namespace outback::core {
namespace {

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

}  // namespace

device_streams& detail::make_streams_of(c10::DeviceIndex device) {
  auto made = std::make_unique<device_streams>();
  device_streams* streams = nullptr;
  // If another thread was quicker, `streams` is that thread's object now, and `made` dies.
  if (streams_by_device[device].compare_exchange_strong(streams, made.get(),
                                                        std::memory_order_acq_rel)) {
    streams = made.release();
  }
  return *streams;
}

stream_state* find_stream(const c10::Stream& stream) noexcept {
  const c10::DeviceIndex device = stream.device_index();
  if (stream.device_type() != device_type || device < 0 || device >= device_count()) return nullptr;
  const c10::StreamId id = stream.id();
  if (C10_LIKELY(id == 0)) return &streams_of(device).default_stream;
  if (id < 0 || id >= max_streams) return nullptr;
  return streams_of(device).pool[id - 1].load(std::memory_order_acquire);
}

stream_state& state_of(const c10::Stream& stream) {
  stream_state* state = find_stream(stream);
  TORCH_CHECK(state != nullptr, stream, " is not a stream of ", backend_name(),
              ": its id was never given out on that device");
  return *state;
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

}  // namespace outback::core
