#include "backend_template/core/memory/allocator/pending_uses.h"

#include <algorithm>

namespace outback::core {
namespace {

void destroy_all(pending_use* list) noexcept {
  while (list != nullptr) delete std::exchange(list, list->next);
}

}  // namespace

pending_uses::~pending_uses() {
  for (const line& each : lines_) destroy_all(each.first);
  destroy_all(spare_);
}

std::unique_ptr<pending_use> pending_uses::make() {
  // The lock ends before a new one is allocated.
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (spare_ != nullptr) {
      return std::unique_ptr<pending_use>(std::exchange(spare_, spare_->next));
    }
  }
  return std::make_unique<pending_use>();
}

// A device has few streams that use each other's memory, so a linear search is enough.
pending_uses::line& pending_uses::line_of(c10::StreamId stream) {
  const auto known = std::find_if(lines_.begin(), lines_.end(),
                                  [stream](const line& each) { return each.stream == stream; });
  if (known != lines_.end()) return *known;
  line& made = lines_.emplace_back(line{.stream = stream});
  line_count_.store(lines_.size(), std::memory_order_relaxed);
  return made;
}

void pending_uses::add(block* freed, c10::SmallVectorImpl<recorded>&& uses) {
  const std::lock_guard<std::mutex> lock(mutex_);
  // Makes all queues first: nothing below can throw, so a block is never in some of its queues
  // only.
  for (const auto& [stream, use] : uses) line_of(stream);
  freed->uses_left = static_cast<uint32_t>(uses.size());
  count_.fetch_add(uses.size(), std::memory_order_relaxed);
  for (auto& [stream, use] : uses) {
    line& queue = line_of(stream);
    pending_use* const added = use.release();
    added->freed = freed;
    added->number = newest_.load(std::memory_order_relaxed) + 1;
    added->next = nullptr;
    added->holders.store(1, std::memory_order_relaxed);
    // It is the first of its queue now, and nobody has asked for it yet.
    if (queue.first == nullptr) rests_.store(0, std::memory_order_relaxed);
    (queue.first == nullptr ? queue.first : queue.last->next) = added;
    queue.last = added;
    newest_.store(added->number, std::memory_order_relaxed);
  }
}

pending_use* pending_uses::ask(size_t& queue, uint64_t until) noexcept {
  // The end of a walk over all queues, noticed without the lock.
  if (queue >= line_count_.load(std::memory_order_relaxed)) return nullptr;
  const std::lock_guard<std::mutex> lock(mutex_);
  for (; queue < lines_.size(); ++queue) {
    pending_use* const first = lines_[queue].first;
    if (first == nullptr || first->number > until) continue;
    // With the lock held, under which the queue's own hold ends: so the use cannot be spare.
    first->holders.fetch_add(1, std::memory_order_relaxed);
    return first;
  }
  return nullptr;
}

void pending_uses::leave(pending_use* asked) noexcept {
  // Most often the queue still holds the use: then no lock is needed. Otherwise another thread has
  // ended it, and the last holder makes it spare.
  if (C10_LIKELY(asked->holders.fetch_sub(1, std::memory_order_acq_rel) > 1)) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  asked->next = std::exchange(spare_, asked);
}

void pending_uses::let_go(pending_use* held) noexcept {
  if (held->holders.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
  held->next = std::exchange(spare_, held);
}

block* pending_uses::end(pending_use* asked, size_t queue) noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  block* freed = nullptr;
  line& from = lines_[queue];
  // If the use is not the first any more, another thread was quicker, and has got the block.
  if (from.first == asked) {
    from.first = asked->next;
    count_.fetch_sub(1, std::memory_order_relaxed);
    if (--asked->freed->uses_left == 0) freed = asked->freed;
    let_go(asked);  // for the queue
  }
  let_go(asked);  // for the caller
  return freed;
}

void pending_uses::drop_spares() noexcept {
  // The events are destroyed after the lock is released, since that calls a slot.
  pending_use* dropped = nullptr;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    dropped = std::exchange(spare_, nullptr);
  }
  destroy_all(dropped);
}

}  // namespace outback::core
