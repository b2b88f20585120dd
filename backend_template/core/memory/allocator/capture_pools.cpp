#include "backend_template/core/memory/allocator/capture_pools.h"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <vector>

#include "backend_template/core/graphs/capture.h"
#include "backend_template/core/memory/allocator/arena.h"
#include "backend_template/core/memory/allocator/freeing.h"
#include "backend_template/core/streams/stream.h"

namespace outback::core {
namespace {

// Never destroyed, as the caches are.
struct deferred_blocks {
  std::mutex mutex;
  std::vector<deferred_block> all;
};

deferred_blocks& deferred() {
  static auto& blocks = *new deferred_blocks;
  return blocks;
}

}  // namespace

c10::MempoolId_t capture_pool_for(c10::DeviceIndex device) noexcept {
  if (C10_LIKELY(!any_capture(device))) return {0, 0};
  const auto open = capture_of(current_stream(device));
  return open == nullptr ? c10::MempoolId_t{0, 0} : open->pool();
}

bool is_of_pool(const c10::DataPtr& memory, c10::MempoolId_t pool) noexcept {
  if (memory.get_deleter() != &free_block || memory.get_context() == nullptr) return false;
  const auto* const used = static_cast<const block*>(memory.get_context());
  return used->home != nullptr && used->home->pool->id == pool;
}

bool defer_in_capture(block* freed, bool own_stream_too) {
  if (C10_LIKELY(!any_capture(freed->device))) return false;
  const std::lock_guard<std::mutex> lock(deferred().mutex);
  // Ask again under the lock: the thread that closed the last capture may have emptied the list
  // since, and nobody would look at it again.
  if (!any_capture(freed->device)) return false;
  deferred().all.push_back({freed, own_stream_too});
  return true;
}

std::optional<deferred_block> take_deferred(c10::DeviceIndex device) noexcept {
  const std::lock_guard<std::mutex> lock(deferred().mutex);
  auto& all = deferred().all;
  // From the back, where removing a block moves the fewest others.
  const auto found = std::find_if(
      all.rbegin(), all.rend(),
      [device](const deferred_block& deferred) { return deferred.freed->device == device; });
  if (found == all.rend() || any_capture(device)) return std::nullopt;
  const deferred_block taken = *found;
  all.erase(std::next(found).base());
  return taken;
}

}  // namespace outback::core
