#include "backend_template/core/memory/allocator/pending_uses.h"

#include <algorithm>

namespace outback::core {

pending_uses::~pending_uses() {
  for (const line& each : lines_) destroy(each.first);
  destroy(spare_);
}

void pending_uses::destroy(pending_use* list) noexcept {
  while (list != nullptr) delete std::exchange(list, list->next);
}

std::unique_ptr<pending_use> pending_uses::take_spare() noexcept {
  if (spare_ == nullptr) return nullptr;
  return std::unique_ptr<pending_use>(std::exchange(spare_, spare_->next));
}

// A device has few streams that use each other's memory, so a linear search is enough.
pending_uses::line& pending_uses::line_of(c10::StreamId stream) {
  const auto known = std::find_if(lines_.begin(), lines_.end(),
                                  [stream](const line& each) { return each.stream == stream; });
  return known != lines_.end() ? *known : lines_.emplace_back(line{.stream = stream});
}

void pending_uses::add(block* freed, uses&& all) {
  // Makes all queues first: nothing below can throw, so a block is never in some of its queues
  // only.
  for (const auto& [stream, use] : all) line_of(stream);
  freed->uses_left = static_cast<uint32_t>(all.size());
  count_.fetch_add(all.size(), std::memory_order_relaxed);
  for (auto& [stream, use] : all) {
    line& queue = line_of(stream);
    pending_use* const added = use.release();
    added->freed = freed;
    added->number = ++newest_;
    added->next = nullptr;
    added->holders = 1;
    // It is the first of its queue now, and nobody has asked for it yet.
    if (queue.first == nullptr) rests_.store(0, std::memory_order_relaxed);
    (queue.first == nullptr ? queue.first : queue.last->next) = added;
    queue.last = added;
  }
}

pending_use* pending_uses::ask(size_t& queue, uint64_t until) noexcept {
  for (; queue < lines_.size(); ++queue) {
    pending_use* const first = lines_[queue].first;
    if (first == nullptr || first->number > until) continue;
    ++first->holders;
    return first;
  }
  return nullptr;
}

void pending_uses::leave(pending_use* asked) noexcept {
  // The last holder makes it spare: the queue, or a thread, if another one has ended the use.
  if (--asked->holders == 0) asked->next = std::exchange(spare_, asked);
}

block* pending_uses::end(pending_use* asked, size_t queue) noexcept {
  block* freed = nullptr;
  line& from = lines_[queue];
  // If the use is not the first any more, another thread was quicker, and has got the block.
  if (from.first == asked) {
    from.first = asked->next;
    count_.fetch_sub(1, std::memory_order_relaxed);
    if (--asked->freed->uses_left == 0) freed = asked->freed;
    leave(asked);  // for the queue
  }
  leave(asked);  // for the caller
  return freed;
}

}  // namespace outback::core
