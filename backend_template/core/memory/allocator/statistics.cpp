#include "backend_template/core/memory/allocator/statistics.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace outback::core {
namespace {

using c10::CachingAllocator::Stat;
using c10::CachingAllocator::StatArray;
using c10::CachingAllocator::StatType;
using counters::index;

constexpr size_t everything = static_cast<size_t>(StatType::AGGREGATE);
static_assert(counters::rows == static_cast<size_t>(StatType::NUM_TYPES));

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

// Calls `f` with every statistic that streams count, and the place of its counter.
template <class F>
void for_each_counter(device_stats& s, F f) {
  const auto each = [&f](counters::kind kind, StatArray& stats) {
    for (size_t row = 0; row < counters::rows; ++row) f(stats[row], index(row, kind));
  };
  each(counters::allocation, s.allocation);
  each(counters::active, s.active);
  each(counters::allocated_bytes, s.allocated_bytes);
  each(counters::active_bytes, s.active_bytes);
  each(counters::requested_bytes, s.requested_bytes);
  each(counters::inactive_split, s.inactive_split);
  each(counters::inactive_split_bytes, s.inactive_split_bytes);
  each(counters::segment, s.segment);
  each(counters::reserved_bytes, s.reserved_bytes);
  f(s.oversize_allocations, counters::oversize_allocations);
  f(s.oversize_segments, counters::oversize_segments);
}

// Calls `f` with the statistics of private pools, on releases of torch that have them.
template <class F>
void for_each_pool_stat(device_stats& counts, F f) {
#if OUTBACK_TORCH_AT_LEAST(2, 13)
  for (auto& [pool, array] : counts.reserved_bytes_by_private_pools) {
    std::for_each(array.begin(), array.end(), f);
  }
#else
  static_cast<void>(counts);
  static_cast<void>(f);
#endif
}

// Returns the statistics of a private pool, which are made if there are none. Returns null for the
// common pool, and if this torch does not count pools.
StatArray* reserved_of_pool(device_stats& counts, c10::MempoolId_t pool) {
#if OUTBACK_TORCH_AT_LEAST(2, 13)
  if (pool != c10::MempoolId_t{0, 0}) return &counts.reserved_bytes_by_private_pools[pool];
#else
  static_cast<void>(counts);
  static_cast<void>(pool);
#endif
  return nullptr;
}

// Drops the statistics of pools that have no memory. As torch's DeviceStats wants, those of a pool
// that is gone are kept until the next reset.
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

// ---- a stream's part

void stream_statistics::add_segment(size_t size, bool small) noexcept {
  for (const size_t row : {everything, pool_index(small)}) {
    share_.add(index(row, counters::segment), 1);
    share_.add(index(row, counters::reserved_bytes), static_cast<int64_t>(size));
  }
}

void stream_statistics::remove_segment(size_t size, bool small) noexcept {
  for (const size_t row : {everything, pool_index(small)}) {
    share_.remove(index(row, counters::segment), 1);
    share_.remove(index(row, counters::reserved_bytes), static_cast<int64_t>(size));
  }
}

void stream_statistics::allocate(size_t size, size_t requested, bool small) noexcept {
  const auto bytes = static_cast<int64_t>(size);
  // In the order of counters::kind.
  const std::array<int64_t, counters::of_an_allocation> amounts{1, 1, bytes, bytes,
                                                                static_cast<int64_t>(requested)};
  share_.add_to(index(everything, counters::allocation), amounts);
  share_.add_to(index(pool_index(small), counters::allocation), amounts);
}

void stream_statistics::give_up(size_t size, size_t requested, bool small) noexcept {
  for (const size_t row : {everything, pool_index(small)}) {
    share_.remove(index(row, counters::allocation), 1);
    share_.remove(index(row, counters::allocated_bytes), static_cast<int64_t>(size));
    share_.remove(index(row, counters::requested_bytes), static_cast<int64_t>(requested));
  }
}

void stream_statistics::deactivate(size_t size, bool small) noexcept {
  for (const size_t row : {everything, pool_index(small)}) {
    share_.remove(index(row, counters::active), 1);
    share_.remove(index(row, counters::active_bytes), static_cast<int64_t>(size));
  }
}

void stream_statistics::change_inactive_split(int64_t blocks, int64_t bytes, bool small) noexcept {
  // A statistic counts what was added and what was removed apart, so the sign decides.
  const auto change = [this](size_t counter, int64_t amount) {
    if (amount > 0) share_.add(counter, amount);
    if (amount < 0) share_.remove(counter, -amount);
  };
  for (const size_t row : {everything, pool_index(small)}) {
    change(index(row, counters::inactive_split), blocks);
    change(index(row, counters::inactive_split_bytes), bytes);
  }
}

// ---- the device

void device_statistics::add_segment_of(c10::MempoolId_t pool, size_t size, bool small) {
  if (StatArray* const own = reserved_of_pool(apart_, pool)) increase(*own, small, size);
}

void device_statistics::remove_segment_of(c10::MempoolId_t pool, size_t size, bool small) {
  if (StatArray* const own = reserved_of_pool(apart_, pool)) decrease(*own, small, size);
}

device_stats device_statistics::counts(const shares& all) const {
  device_stats sums = apart_;
  for_each_counter(sums, [&](Stat& stat, size_t counter) {
    for (const share* const part : all) {
      stat.current += part->current(counter);
      stat.allocated += part->added(counter);
      stat.freed += part->removed(counter);
    }
    stat.peak = peaks_.peak(counter);
  });
  return sums;
}

void device_statistics::reset_accumulated(const shares& all) {
  // What is in use, and the peaks, stay: torch's "accumulated" are the sums of allocated and freed.
  for (share* const part : all) part->reset_accumulated();
  for_each_pool_stat(apart_, [](Stat& stat) { stat.reset_accumulated(); });
  forget_gone_pools(apart_);
  apart_.num_alloc_retries = 0;
  apart_.num_ooms = 0;
  apart_.num_sync_all_streams = 0;
  apart_.num_device_alloc = 0;
  apart_.num_device_free = 0;
}

void device_statistics::reset_peak(const shares& all) {
  peaks_.reset_peaks(all);
  for_each_pool_stat(apart_, [](Stat& stat) { stat.reset_peak(); });
}

}  // namespace outback::core
