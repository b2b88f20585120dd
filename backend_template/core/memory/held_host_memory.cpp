#include "backend_template/core/memory/held_host_memory.h"

#include <atomic>
#include <cstddef>
#include <unordered_map>
#include <utility>

#include "backend_template/core/devices/lazy_start.h"
#include "backend_template/core/memory/host_allocator.h"
#include "backend_template/core/runtime/runtime.h"

namespace outback::core {
namespace {

struct held_block {
  size_t graphs = 0;
  void* context = nullptr;  // given once its tensors are done with it
};

// The blocks that graphs hold. Never destroyed: tensors may outlive main().
struct held_by_all {
  std::mutex mutex;
  std::unordered_map<void*, held_block> blocks;
  std::atomic<size_t> count{0};
};

held_by_all& all() {
  static auto& blocks = *new held_by_all;
  return blocks;
}

// Ends one graph's hold. Returns the context of a block that nobody wants any more, or null.
void* drop(void* block) {
  const std::lock_guard<std::mutex> lock(all().mutex);
  const auto found = all().blocks.find(block);
  if (--found->second.graphs != 0) return nullptr;
  void* const context = found->second.context;
  all().blocks.erase(found);
  all().count.fetch_sub(1, std::memory_order_relaxed);
  return context;
}

}  // namespace

void held_host_memory::hold(void* block) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!blocks_.insert(block).second) return;
  try {
    const std::lock_guard<std::mutex> of_all(all().mutex);
    const auto [held, is_new] = all().blocks.try_emplace(block);
    ++held->second.graphs;
    if (is_new) all().count.fetch_add(1, std::memory_order_relaxed);
  } catch (...) {
    blocks_.erase(block);
    throw;
  }
}

void held_host_memory::used_on(const c10::Stream& stream) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!blocks_.empty()) streams_.insert(stream);
}

held_host_memory::~held_host_memory() {
  // In a forked child the blocks are the parent's.
  if (is_in_bad_fork()) return;
  try {
    let_go();
  } catch (...) {
    warn(backend_name(), ": pinned memory of a graph leaks: ", handled_text());
  }
}

// While this graph holds a block, its tensors cannot free it: so the uses are noted first.
void held_host_memory::let_go() {
  for (void* const block : blocks_) {
    for (const c10::Stream& stream : streams_) note_pinned_use(block, stream);
    if (void* const context = drop(block)) free_pinned(context);
  }
}

bool free_after_graphs(void* block, void* context) noexcept {
  if (all().count.load(std::memory_order_relaxed) == 0) return false;
  const std::lock_guard<std::mutex> lock(all().mutex);
  const auto found = all().blocks.find(block);
  if (found == all().blocks.end()) return false;
  found->second.context = context;
  return true;
}

}  // namespace outback::core
