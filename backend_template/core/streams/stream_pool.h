// Keeps the streams by device and id, with the progress of their work. Only for stream.cpp and
// stream_pool.cpp. stream.h describes the ids.
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

// The number of streams in torch.cuda's pool for one priority.
inline constexpr int streams_per_priority = 32;
inline constexpr int max_priorities = 8;
inline constexpr int max_pooled = max_priorities * streams_per_priority;
inline constexpr int max_external = 1024;
inline constexpr int max_streams = 1 + max_pooled + max_external;

/// One stream of the runtime. It is never destroyed, since c10::Stream and torch.Stream are only
/// ids and do not own their stream.
struct stream_state {
  outback_stream handle = nullptr;
  // `enqueued` counts the slot calls that put work on the stream, and rises after each such call.
  // `completed` is the number of these calls whose work is known to be done. The stream is idle if
  // both are equal.
  std::atomic<uint64_t> enqueued{0};
  std::atomic<uint64_t> completed{0};
  // True for an external stream, on which other code puts work that is not counted. Written before
  // the stream is given out, so it needs no atomic.
  bool is_external = false;
  // True if a kernel on the stream may have written a fault that no wait for the stream has looked
  // for (kernel_faults.h).
  std::atomic<bool> may_have_faults{false};

  // Returns false while the stream is in a capture: then it has recorded work, for which no wait is
  // allowed.
  bool idle() const noexcept {
    return !is_external &&
           completed.load(std::memory_order_acquire) >= enqueued.load(std::memory_order_acquire);
  }

  // `count` is the value of `enqueued` before the wait or the query began, so work that another
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
  // The priority range as one number: the least times max_priorities, minus the greatest. Negative
  // until the runtime was asked.
  std::atomic<int> priorities{-1};
  std::mutex create_mutex;
  stream_state default_stream;
  // Indexed by id - 1. First the pooled streams, whose index is the level of the priority, counted
  // from the least urgent one, times streams_per_priority, plus the place in the level. Then the
  // external streams.
  std::array<std::atomic<stream_state*>, max_streams - 1> pool{};
  std::array<std::atomic<uint32_t>, max_priorities> next{};
  std::map<void*, c10::StreamId> external;  // by the driver's handle; guarded by create_mutex
};

namespace detail {
inline constinit std::array<std::atomic<device_streams*>, max_devices> streams_by_device{};

// The slow path of `streams_of`.
device_streams& make_streams_of(c10::DeviceIndex device);
}  // namespace detail

/// Returns the streams of `device`, a valid index. They are never destroyed, since the destructors
/// of tensors use streams after main(). Thread-safe, as all functions here are.
inline device_streams& streams_of(c10::DeviceIndex device) {
  device_streams* const streams = detail::streams_by_device[device].load(std::memory_order_acquire);
  return C10_LIKELY(streams != nullptr) ? *streams : detail::make_streams_of(device);
}

/// Returns the c10::Stream with this id.
inline c10::Stream make_stream(c10::DeviceIndex device, c10::StreamId id) {
  return c10::Stream(c10::Stream::UNSAFE, c10::Device(device_type, device), id);
}

/// Returns the state of a stream, or null if the backend never gave out such a stream.
stream_state* find_stream(const c10::Stream& stream) noexcept;

/// Returns the state of a stream. Throws c10::Error (RuntimeError) if the stream does not exist.
stream_state& state_of(const c10::Stream& stream);

}  // namespace outback::core
