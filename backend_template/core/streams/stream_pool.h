// The streams that core keeps by device and id, with how much of their work is done; for stream.cpp
// and stream_pool.cpp alone. stream.h says what ids there are.
#pragma once

#include <c10/core/Stream.h>
#include <c10/macros/Macros.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>

#include "backend_template/core/devices/device.h"
#include "outback/runtime.h"

namespace outback::core {

// As many as torch.cuda has in the pool of a priority.
inline constexpr int streams_per_priority = 32;
inline constexpr int max_priorities = 8;
inline constexpr int max_pooled = max_priorities * streams_per_priority;
inline constexpr int max_external = 1024;
inline constexpr int max_streams = 1 + max_pooled + max_external;

/// One stream of the runtime. It is never destroyed, since a c10::Stream, and so torch.Stream, is
/// an id and does not own its stream.
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

/// The streams of a device.
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

namespace detail {
inline constinit std::array<std::atomic<device_streams*>, max_devices> streams_by_device{};

// The slow path of `streams_of`.
device_streams& make_streams_of(c10::DeviceIndex device);
}  // namespace detail

/// Returns those of a valid index. Never destroyed, with all they hold: the destructors of tensors
/// use streams after main(). Thread-safe, as all functions here are.
inline device_streams& streams_of(c10::DeviceIndex device) {
  device_streams* const streams = detail::streams_by_device[device].load(std::memory_order_acquire);
  return C10_LIKELY(streams != nullptr) ? *streams : detail::make_streams_of(device);
}

/// Returns the stream of that id as torch has it.
inline c10::Stream make_stream(c10::DeviceIndex device, c10::StreamId id) {
  return c10::Stream(c10::Stream::UNSAFE, c10::Device(device_type, device), id);
}

/// Returns the state of a stream, or null if it is not a stream of this backend that was given out.
stream_state* find_stream(const c10::Stream& stream) noexcept;

/// Returns the state of a stream. Throws c10::Error (RuntimeError) if there is none.
stream_state& state_of(const c10::Stream& stream);

}  // namespace outback::core
