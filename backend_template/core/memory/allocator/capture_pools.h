// Memory during a capture: what is allocated comes out of the graph's pool, and what streams may
// still use waits until events mean something again.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/CachingDeviceAllocator.h>

#include <optional>

#include "backend_template/core/memory/allocator/block.h"

namespace outback::core {

/// The pool of the capture that the thread's current stream on the device is in, or {0, 0}.
c10::MempoolId_t capture_pool_for(c10::DeviceIndex device) noexcept;

/// True when `memory`, which is in use, came out of the pool.
bool is_of_pool(const c10::DataPtr& memory, c10::MempoolId_t pool) noexcept;

/// A block that its owner gave up during a capture.
struct deferred_block {
  block* freed;
  bool own_stream_too;
};

/// An event that is recorded on a stream of a capture says nothing of when work ends. True when a
/// stream of the block's device is in one: then the block is kept for `take_deferred`.
bool defer_in_capture(block* freed, bool own_stream_too);
/// One of the device's, once no capture concerns that any more. To be called after each
/// `close_capture`, until there is none.
std::optional<deferred_block> take_deferred(c10::DeviceIndex device) noexcept;

}  // namespace outback::core
