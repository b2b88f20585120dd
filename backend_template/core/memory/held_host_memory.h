// Pinned host memory that the copies of a graph read and write. A replay uses the addresses of the
// capture. So while the graph lives, the allocator (host_allocator.h) does not hand this memory out
// again, even if the tensors are gone.
#pragma once

#include <c10/core/Stream.h>

#include <mutex>
#include <unordered_set>

namespace outback::core {

/// The pinned blocks of one graph. A capture makes this object, and its graph keeps it.
/// Thread-safe.
class held_host_memory {
 public:
  held_host_memory() = default;
  held_host_memory(const held_host_memory&) = delete;
  held_host_memory& operator=(const held_host_memory&) = delete;
  /// Releases all blocks. A block whose tensors are gone, and that no other graph holds, goes back
  /// to the allocator, which waits for pending replays before it hands the block out.
  ~held_host_memory();

  /// Holds the allocator's block that begins at `block`. Throws std::bad_alloc.
  void hold(void* block);
  /// Notes that replays use the blocks on `stream`. Throws std::bad_alloc.
  void used_on(const c10::Stream& stream);

 private:
  void let_go();

  std::mutex mutex_;
  std::unordered_set<void*> blocks_;
  std::unordered_set<c10::Stream> streams_;
};

/// Returns true if a graph holds `block`. Then the last graph that releases the block passes
/// `context`, the allocator's context for the block, to `free_pinned`. Costs one load while no
/// graph holds any block.
bool free_after_graphs(void* block, void* context) noexcept;

}  // namespace outback::core
