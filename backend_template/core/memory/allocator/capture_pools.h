// Device memory during a capture. What is allocated comes from the graph's pool. What is freed
// while other streams may use it waits until the capture is over, since until then no event can
// tell when their work ends. For the allocator and for ops/recording.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/CachingDeviceAllocator.h>

#include <optional>

#include "backend_template/core/memory/allocator/block.h"

namespace outback::core {

/// Returns the pool of the capture that the calling thread's current stream on `device` is in, or
/// {0, 0} if it is in none. Thread-safe.
c10::MempoolId_t capture_pool_for(c10::DeviceIndex device) noexcept;

/// Returns true if `memory` was allocated from the pool. False for memory that this allocator does
/// not own. The caller must keep `memory` alive meanwhile.
bool is_of_pool(const c10::DataPtr& memory, c10::MempoolId_t pool) noexcept;

/// A block whose owner gave it up during a capture. `own_stream_too`: it has to wait for its own
/// stream as well, because its memory will leave the allocator.
struct deferred_block {
  block* freed;
  bool own_stream_too;
};

/// Keeps the block for `take_deferred` and returns true, if a stream of its device is in a capture.
/// An event that is recorded on a captured stream says nothing of when work ends. Otherwise returns
/// false, and the block stays the caller's. Thread-safe.
bool defer_in_capture(block* freed, bool own_stream_too);

/// Returns one of the device's kept blocks, which is the caller's from then on. Returns nothing if
/// there is none, or while a stream of the device is in a capture. Call it after each
/// `close_capture` until it returns nothing (free_deferred does). Thread-safe.
std::optional<deferred_block> take_deferred(c10::DeviceIndex device) noexcept;

}  // namespace outback::core
