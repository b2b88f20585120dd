#include "backend_template/core/allocator/statistics.h"

#include <algorithm>
#include <iterator>

namespace outback::core {
namespace {

using c10::CachingAllocator::Stat;
using c10::CachingAllocator::StatArray;
using c10::CachingAllocator::StatType;

constexpr size_t everything = static_cast<size_t>(StatType::AGGREGATE);

constexpr size_t pool_index(bool small) {
  return static_cast<size_t>(small ? StatType::SMALL_POOL : StatType::LARGE_POOL);
}

void increase(StatArray& stats, bool small, size_t amount) {
  stats[everything].increase(amount);
  stats[pool_index(small)].increase(amount);
}

void decrease(StatArray& stats, bool small, size_t amount) {
  stats[everything].decrease(amount);
  stats[pool_index(small)].decrease(amount);
}

void change(StatArray& stats, bool small, int64_t amount) {
  if (amount > 0) increase(stats, small, static_cast<size_t>(amount));
  if (amount < 0) decrease(stats, small, static_cast<size_t>(-amount));
}

template <class Stats, class F>
void for_each_stat(Stats& s, F f) {
  for (StatArray* array :
       {&s.allocation, &s.segment, &s.active, &s.inactive_split, &s.allocated_bytes,
        &s.reserved_bytes, &s.active_bytes, &s.inactive_split_bytes, &s.requested_bytes}) {
    std::for_each(array->begin(), array->end(), f);
  }
  f(s.oversize_allocations);
  f(s.oversize_segments);
#if OUTBACK_TORCH_AT_LEAST(2, 13)
  for (auto& [pool, array] : s.reserved_bytes_by_private_pools) {
    std::for_each(array.begin(), array.end(), f);
  }
#endif
}

// Null: not of a private pool, or this torch does not count them.
StatArray* reserved_of_pool(device_stats& counts, c10::MempoolId_t pool) {
#if OUTBACK_TORCH_AT_LEAST(2, 13)
  if (pool != c10::MempoolId_t{0, 0}) return &counts.reserved_bytes_by_private_pools[pool];
#else
  static_cast<void>(counts);
  static_cast<void>(pool);
#endif
  return nullptr;
}

// Of a pool that is gone, the counters are kept until they are reset.
void forget_gone_pools(device_stats& counts) {
#if OUTBACK_TORCH_AT_LEAST(2, 13)
  auto& pools = counts.reserved_bytes_by_private_pools;
  for (auto it = pools.begin(); it != pools.end();) {
    it = it->second[everything].current == 0 ? pools.erase(it) : std::next(it);
  }
#else
  static_cast<void>(counts);
#endif
}

}  // namespace

void statistics::add_segment(size_t size, bool small, c10::MempoolId_t pool) {
  increase(counts_.segment, small, 1);
  increase(counts_.reserved_bytes, small, size);
  if (StatArray* const own = reserved_of_pool(counts_, pool)) increase(*own, small, size);
}

void statistics::remove_segment(size_t size, bool small, c10::MempoolId_t pool) {
  decrease(counts_.segment, small, 1);
  decrease(counts_.reserved_bytes, small, size);
  if (StatArray* const own = reserved_of_pool(counts_, pool)) decrease(*own, small, size);
}

void statistics::allocate(size_t size, size_t requested, bool small) {
  increase(counts_.allocation, small, 1);
  increase(counts_.allocated_bytes, small, size);
  increase(counts_.active, small, 1);
  increase(counts_.active_bytes, small, size);
  increase(counts_.requested_bytes, small, requested);
}

void statistics::give_up(size_t size, size_t requested, bool small) {
  decrease(counts_.allocation, small, 1);
  decrease(counts_.allocated_bytes, small, size);
  decrease(counts_.requested_bytes, small, requested);
}

void statistics::deactivate(size_t size, bool small) {
  decrease(counts_.active, small, 1);
  decrease(counts_.active_bytes, small, size);
}

void statistics::change_inactive_split(int64_t blocks, int64_t bytes, bool small) {
  change(counts_.inactive_split, small, blocks);
  change(counts_.inactive_split_bytes, small, bytes);
}

void statistics::reset_accumulated() {
  for_each_stat(counts_, [](Stat& stat) { stat.reset_accumulated(); });
  forget_gone_pools(counts_);
  counts_.num_alloc_retries = 0;
  counts_.num_ooms = 0;
  counts_.num_sync_all_streams = 0;
  counts_.num_device_alloc = 0;
  counts_.num_device_free = 0;
}

void statistics::reset_peak() {
  for_each_stat(counts_, [](Stat& stat) { stat.reset_peak(); });
}

}  // namespace outback::core
