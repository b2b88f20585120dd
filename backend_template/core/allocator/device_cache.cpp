#include "backend_template/core/allocator/device_cache.h"

#include <algorithm>
#include <utility>

namespace outback::core {
namespace {

using c10::CachingAllocator::Stat;
using c10::CachingAllocator::StatArray;
using c10::CachingAllocator::StatType;

// What CUDA's allocator calls the small pool.
constexpr size_t small_pool_limit = size_t{1} << 20;

StatType pool_of(const block& b) {
  return b.size <= small_pool_limit ? StatType::SMALL_POOL : StatType::LARGE_POOL;
}

void increase(StatArray& stats, StatType pool, size_t amount) {
  stats[static_cast<size_t>(StatType::AGGREGATE)].increase(amount);
  stats[static_cast<size_t>(pool)].increase(amount);
}

void decrease(StatArray& stats, StatType pool, size_t amount) {
  stats[static_cast<size_t>(StatType::AGGREGATE)].decrease(amount);
  stats[static_cast<size_t>(pool)].decrease(amount);
}

template <class Stats, class F>
void for_each_array(Stats& s, F f) {
  for (StatArray* array :
       {&s.allocation, &s.segment, &s.active, &s.inactive_split, &s.allocated_bytes,
        &s.reserved_bytes, &s.active_bytes, &s.inactive_split_bytes, &s.requested_bytes}) {
    std::for_each(array->begin(), array->end(), f);
  }
  f(s.oversize_allocations);
  f(s.oversize_segments);
}

}  // namespace

device_cache::device_cache(c10::DeviceIndex device) : device_(device) {}

device_cache::free_lists& device_cache::lists_of(c10::StreamId stream) {
  if (C10_LIKELY(stream == 0)) return default_stream_lists_;
  auto& lists = other_lists_[stream];
  if (lists == nullptr) lists = std::make_unique<free_lists>();
  return *lists;
}

void device_cache::count_allocated(const block& b) {
  const StatType pool = pool_of(b);
  increase(stats_.allocation, pool, 1);
  increase(stats_.active, pool, 1);
  increase(stats_.allocated_bytes, pool, b.size);
  increase(stats_.active_bytes, pool, b.size);
  increase(stats_.requested_bytes, pool, b.requested);
  allocated_.fetch_add(b.size, std::memory_order_relaxed);
}

void device_cache::count_freed(const block& b) noexcept {
  const StatType pool = pool_of(b);
  decrease(stats_.allocation, pool, 1);
  decrease(stats_.active, pool, 1);
  decrease(stats_.allocated_bytes, pool, b.size);
  decrease(stats_.active_bytes, pool, b.size);
  decrease(stats_.requested_bytes, pool, b.requested);
  allocated_.fetch_sub(b.size, std::memory_order_relaxed);
}

block* device_cache::take(int size_class, c10::StreamId stream, size_t requested) {
  std::lock_guard<std::mutex> lock(mutex_);
  block*& head = lists_of(stream)[size_class];
  block* found = head;
  if (found == nullptr) return nullptr;
  head = found->next;
  found->next = nullptr;
  found->requested = requested;
  count_allocated(*found);
  return found;
}

block* device_cache::new_block() {
  if (spare_ != nullptr) {
    block* reused = std::exchange(spare_, spare_->next);
    reused->next = nullptr;
    return reused;
  }
  auto* made = new block;
  made->device = device_;
  return made;
}

void device_cache::recycle(block* gone) noexcept {
  gone->data = nullptr;
  gone->is_adopted = false;
  gone->also_used_on.clear();
  gone->next = spare_;
  spare_ = gone;
}

block* device_cache::add(void* data, size_t size, size_t requested, int size_class,
                         c10::StreamId stream) {
  std::lock_guard<std::mutex> lock(mutex_);
  block* const made = new_block();
  made->data = data;
  made->size = size;
  made->requested = requested;
  made->size_class = size_class;
  made->stream = stream;
  insert(made);
  return made;
}

block* device_cache::add_adopted(c10::DataPtr&& foreign, size_t size, c10::StreamId stream) {
  std::lock_guard<std::mutex> lock(mutex_);
  block* const made = new_block();
  made->data = foreign.get();
  made->size = size;
  made->requested = size;
  made->size_class = -1;
  made->stream = stream;
  made->is_adopted = true;
  made->foreign = std::move(foreign);
  insert(made);
  return made;
}

void device_cache::insert(block* made) {
  const StatType pool = pool_of(*made);
  (made->is_adopted ? adopted_ : reserved_).fetch_add(made->size, std::memory_order_relaxed);
  increase(stats_.segment, pool, 1);
  increase(stats_.reserved_bytes, pool, made->size);
  if (!made->is_adopted) ++stats_.num_device_alloc;
  count_allocated(*made);
}

void device_cache::record(block* used, c10::StreamId stream) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto& streams = used->also_used_on;
  if (std::find(streams.begin(), streams.end(), stream) == streams.end()) streams.push_back(stream);
}

bool device_cache::put_back(block* freed) noexcept {
  if (freed->is_adopted || freed->size_class < 0) return false;
  std::lock_guard<std::mutex> lock(mutex_);
  count_freed(*freed);
  freed->also_used_on.clear();
  block*& head = lists_of(freed->stream)[freed->size_class];
  freed->next = head;
  head = freed;
  return true;
}

void device_cache::put_pending(pending_block&& waiting) {
  std::lock_guard<std::mutex> lock(mutex_);
  pending_.push_back(std::move(waiting));
  pending_count_.store(pending_.size(), std::memory_order_relaxed);
}

std::vector<pending_block> device_cache::take_pending() {
  std::lock_guard<std::mutex> lock(mutex_);
  pending_count_.store(0, std::memory_order_relaxed);
  return std::exchange(pending_, {});
}

block* device_cache::take_all_cached() noexcept {
  std::lock_guard<std::mutex> lock(mutex_);
  block* all = nullptr;
  const auto unlink = [&all](free_lists& lists) {
    for (block*& head : lists) {
      while (head != nullptr) {
        block* it = std::exchange(head, head->next);
        it->next = all;
        all = it;
      }
    }
  };
  unlink(default_stream_lists_);
  for (auto& [stream, lists] : other_lists_) unlink(*lists);
  return all;
}

void device_cache::forget(block* gone, bool was_cached) noexcept {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!was_cached) count_freed(*gone);
  const StatType pool = pool_of(*gone);
  (gone->is_adopted ? adopted_ : reserved_).fetch_sub(gone->size, std::memory_order_relaxed);
  decrease(stats_.segment, pool, 1);
  decrease(stats_.reserved_bytes, pool, gone->size);
  if (!gone->is_adopted) ++stats_.num_device_free;
  recycle(gone);
}

void device_cache::count_retry() {
  std::lock_guard<std::mutex> lock(mutex_);
  ++stats_.num_alloc_retries;
}

void device_cache::count_out_of_memory() {
  std::lock_guard<std::mutex> lock(mutex_);
  ++stats_.num_ooms;
}

c10::CachingDeviceAllocator::DeviceStats device_cache::stats() {
  std::lock_guard<std::mutex> lock(mutex_);
  return stats_;
}

void device_cache::reset_accumulated() {
  std::lock_guard<std::mutex> lock(mutex_);
  for_each_array(stats_, [](Stat& stat) { stat.reset_accumulated(); });
  stats_.num_alloc_retries = 0;
  stats_.num_ooms = 0;
  stats_.num_device_alloc = 0;
  stats_.num_device_free = 0;
}

void device_cache::reset_peak() {
  std::lock_guard<std::mutex> lock(mutex_);
  for_each_array(stats_, [](Stat& stat) { stat.reset_peak(); });
}

}  // namespace outback::core
