// One piece of device memory as the allocator knows it; the context of the DataPtr that owns it.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/Stream.h>
#include <c10/util/SmallVector.h>

#include <atomic>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace outback::core {

struct arena;
class stream_cache;

/// When a block was freed, for what is given back first. Of two streams the order is that of
/// `epoch` alone: the segments that the device had got before. Within a stream it is exact.
struct freeing_order {
  uint64_t epoch = 0;
  uint64_t turn = 0;
  auto operator<=>(const freeing_order&) const = default;
};

inline constexpr size_t cache_line = 64;

enum class block_state : uint8_t {
  cached,     // in the free blocks of its arena
  recent,     // the same, but not merged with its neighbours yet
  allocated,  // a tensor's
  pending     // freed, but streams may still use it
};

/// A part of a segment, which is one mem_alloc of the runtime, or the whole of it. Guarded by the
/// mutex of its stream's cache, but for what a block's owner may read without: `data`, `device`,
/// `stream`, `keeper`, `is_adopted`, and, since nobody else changes them then, `size` and
/// `also_used_on` when the owner is done with it. Blocks of two streams share no cache line.
struct alignas(cache_line) block {
  std::byte* data = nullptr;
  size_t size = 0;
  size_t requested = 0;     // as asked for
  arena* home = nullptr;    // null: the memory is adopted, and goes back to its owner
  block* before = nullptr;  // the neighbours in the segment
  block* after = nullptr;
  block* previous = nullptr;  // in the list that the block is in
  block* next = nullptr;
  stream_cache* keeper = nullptr;
  c10::StreamId stream = 0;  // whose work may use the memory without further notice
  c10::DeviceIndex device = 0;
  block_state state = block_state::allocated;
  bool is_adopted = false;          // the memory is the CPU allocator's, not the runtime's
  bool bypasses_cache = false;      // goes back to the runtime as soon as it is free
  uint32_t uses_left = 0;           // that a pending block waits for; guarded by pending_uses
  std::atomic<uint32_t> owners{1};  // DataPtrs: see share_memory
  freeing_order cached_at;
  c10::SmallVector<c10::StreamId, 1> also_used_on;  // by record_stream
  std::shared_ptr<c10::GatheredContext> context;    // who allocated it, when that is recorded
  block* segment_previous = nullptr;                // of a segment's first block
  block* segment_next = nullptr;
  c10::DataPtr foreign;  // an adopted memory's owner

  bool is_split() const noexcept { return before != nullptr || after != nullptr; }
};
}  // namespace outback::core
