// Pinned host memory that the copies of a graph read and write. A replay uses the same addresses as
// the capture did, so the allocator (host_allocator.h) hands out none of it again while the graph
// lives, whether or not its tensors do.
#pragma once

#include <c10/core/Stream.h>

#include <mutex>
#include <unordered_set>

namespace outback::core {

/// What one graph holds: made for a capture, and kept by its graph. Thread-safe.
class held_host_memory {
 public:
  held_host_memory() = default;
  held_host_memory(const held_host_memory&) = delete;
  held_host_memory& operator=(const held_host_memory&) = delete;
  /// Lets go of all blocks. Those that their tensors are done with, and that no other graph holds,
  /// go back to the allocator, which waits for the replays that are under way.
  ~held_host_memory();

  /// Holds the block of the allocator that begins at `block`. Throws std::bad_alloc.
  void hold(void* block);
  /// Notes that replays use the blocks on `stream`. Throws std::bad_alloc.
  void used_on(const c10::Stream& stream);

 private:
  void let_go();

  std::mutex mutex_;
  std::unordered_set<void*> blocks_;
  std::unordered_set<c10::Stream> streams_;
};

/// Returns true if a graph holds `block`: then `context`, the block's context for the allocator, is
/// passed to `free_pinned` again once no graph does. Costs one load while no graph holds any.
bool free_after_graphs(void* block, void* context) noexcept;

}  // namespace outback::core
