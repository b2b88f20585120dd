// A block: one piece of device memory as the allocator knows it. A block is the context of the
// DataPtr that owns the memory, and an element of the allocator's lists.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/Stream.h>
#include <c10/util/SmallVector.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace outback::core {

struct arena;

enum class block_state : uint8_t {
  cached,     // free, in its arena's free_blocks
  recent,     // free, in its arena's recent_blocks: not merged with its neighbours yet
  allocated,  // owned by a tensor's storage
  pending     // without owner, but not free: streams may use it, or it goes back to the runtime
};

/// A segment, which is one allocation with mem_alloc, or a part of a segment.
///
/// The lock of the block's device_cache guards it, with two exceptions. `data`, `device`, `stream`,
/// and `is_adopted` do not change while a DataPtr owns the block, so its owner reads them without
/// the lock. The last owner may read `size` and `also_used_on` without the lock too, since no other
/// thread changes them then. The alignment puts the members that an allocation touches on two cache
/// lines.
struct alignas(64) block {
  std::byte* data = nullptr;
  size_t size = 0;       // bytes in the block
  size_t requested = 0;  // bytes that were asked for
  // The arena to which the block returns when it is free. Null for adopted memory, which the CPU's
  // allocator frees.
  arena* home = nullptr;
  // The neighbours in the segment, by address. Null at the segment's ends.
  block* before = nullptr;
  block* after = nullptr;
  // The neighbours in the block's list: a bin of free_blocks, or a list of spares.
  block* previous = nullptr;
  block* next = nullptr;
  // The stream on which work may use the memory without record_stream.
  c10::StreamId stream = 0;
  c10::DeviceIndex device = 0;
  block_state state = block_state::allocated;
  bool is_adopted = false;      // the memory was allocated by the CPU, not by the runtime
  bool bypasses_cache = false;  // goes back to the runtime as soon as it is free
  uint32_t uses_left = 0;       // a pending block's uses that are not over; pending_uses writes it
  std::atomic<uint32_t> owners{1};  // DataPtrs that own the memory: see share_memory
  uint64_t cached_at = 0;           // the device's count of freed blocks when this one was freed
  // The other streams in calls of record_stream.
  c10::SmallVector<c10::StreamId, 1> also_used_on;
  // The stack of the thread that allocated the block, while the history records stacks.
  std::shared_ptr<c10::GatheredContext> context;
  // The neighbours in the list of segments. Only the first block of a segment is in it.
  block* segment_previous = nullptr;
  block* segment_next = nullptr;
  c10::DataPtr foreign;  // owns adopted memory

  bool is_split() const noexcept { return before != nullptr || after != nullptr; }
};

}  // namespace outback::core
