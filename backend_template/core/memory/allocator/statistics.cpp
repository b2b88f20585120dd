#include "backend_template/core/memory/allocator/statistics.h"

#include <iterator>

#include "backend_template/core/runtime/torch_version.h"

namespace outback::core {
namespace {

using c10::CachingAllocator::Stat;
using c10::CachingAllocator::StatArray;
using c10::CachingAllocator::StatType;

constexpr auto everything = static_cast<size_t>(StatType::AGGREGATE);

constexpr size_t row_of(bool small) {
  return static_cast<size_t>(small ? StatType::SMALL_POOL : StatType::LARGE_POOL);
}

C10_ALWAYS_INLINE void increase(StatArray& stats, bool small, size_t amount) {
  device_statistics::add_to(stats[everything], amount);
  device_statistics::add_to(stats[row_of(small)], amount);
}

C10_ALWAYS_INLINE void decrease(StatArray& stats, bool small, size_t amount) {
  device_statistics::remove_from(stats[everything], amount);
  device_statistics::remove_from(stats[row_of(small)], amount);
}

// A statistic counts what was added and what was removed apart, so the sign decides.
void change(StatArray& stats, bool small, int64_t amount) {
  if (amount > 0) increase(stats, small, static_cast<size_t>(amount));
  if (amount < 0) decrease(stats, small, static_cast<size_t>(-amount));
}

// Calls `visit` with every statistic that has a peak.
template <class F>
void for_each(device_stats& counts, F visit) {
  const auto each = [&visit](StatArray& stats) {
    for (Stat& stat : stats) visit(stat);
  };
  each(counts.allocation);
  each(counts.segment);
  each(counts.active);
  each(counts.inactive_split);
  each(counts.allocated_bytes);
  each(counts.reserved_bytes);
  each(counts.active_bytes);
  each(counts.inactive_split_bytes);
  each(counts.requested_bytes);
  visit(counts.oversize_allocations);
  visit(counts.oversize_segments);
#if OUTBACK_TORCH_AT_LEAST(2, 13)
  for (auto& [pool, stats] : counts.reserved_bytes_by_private_pools) each(stats);
#endif
}

// Returns the statistics of a private pool, which are made if there are none. Returns null for the
// common pool, and if this torch does not count pools.
StatArray* reserved_of_pool([[maybe_unused]] device_stats& counts, c10::MempoolId_t pool) {
  if (pool == c10::MempoolId_t{0, 0}) return nullptr;
#if OUTBACK_TORCH_AT_LEAST(2, 13)
  return &counts.reserved_bytes_by_private_pools[pool];
#else
  return nullptr;
#endif
}

// Drops the statistics of pools that have no memory. As torch's DeviceStats wants, those of a pool
// that is gone are kept until the next reset.
void forget_gone_pools([[maybe_unused]] device_stats& counts) {
#if OUTBACK_TORCH_AT_LEAST(2, 13)
  auto& pools = counts.reserved_bytes_by_private_pools;
  for (auto it = pools.begin(); it != pools.end();) {
    it = it->second[everything].current == 0 ? pools.erase(it) : std::next(it);
  }
#endif
}

}  // namespace

void device_statistics::add_segment(c10::MempoolId_t pool, size_t size, bool small) {
  increase(counts_.segment, small, 1);
  increase(counts_.reserved_bytes, small, size);
  if (StatArray* const own = reserved_of_pool(counts_, pool)) increase(*own, small, size);
}

void device_statistics::remove_segment(c10::MempoolId_t pool, size_t size, bool small) {
  decrease(counts_.segment, small, 1);
  decrease(counts_.reserved_bytes, small, size);
  if (StatArray* const own = reserved_of_pool(counts_, pool)) decrease(*own, small, size);
}

void device_statistics::allocate(size_t size, size_t requested, bool small) {
  increase(counts_.allocation, small, 1);
  increase(counts_.active, small, 1);
  increase(counts_.allocated_bytes, small, size);
  increase(counts_.active_bytes, small, size);
  increase(counts_.requested_bytes, small, requested);
}

void device_statistics::give_up(size_t size, size_t requested, bool small) {
  decrease(counts_.allocation, small, 1);
  decrease(counts_.allocated_bytes, small, size);
  decrease(counts_.requested_bytes, small, requested);
}

void device_statistics::deactivate(size_t size, bool small) {
  decrease(counts_.active, small, 1);
  decrease(counts_.active_bytes, small, size);
}

void device_statistics::change_inactive_split(int64_t blocks, int64_t bytes, bool small) {
  change(counts_.inactive_split, small, blocks);
  change(counts_.inactive_split_bytes, small, bytes);
}

device_stats device_statistics::counts() const {
  device_stats all = counts_;
  for_each(all, [](Stat& stat) { stat.freed += stat.allocated - stat.current; });
  return all;
}

void device_statistics::reset_accumulated() {
  for_each(counts_, [](Stat& stat) {
    stat.allocated = 0;
    stat.freed = stat.current;
  });
  forget_gone_pools(counts_);
  counts_.num_alloc_retries = 0;
  counts_.num_ooms = 0;
  counts_.num_sync_all_streams = 0;
  counts_.num_device_alloc = 0;
  counts_.num_device_free = 0;
}

void device_statistics::reset_peak() {
  for_each(counts_, [](Stat& stat) { stat.reset_peak(); });
}

}  // namespace outback::core
