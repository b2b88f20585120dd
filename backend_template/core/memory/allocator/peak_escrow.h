// Exact peaks of counters that many shards count without a common lock.
//
// The peak of a sum is the sum's, not the sum of the shards' peaks. So each shard holds, beside
// what it counts, a credit: how much it may still add before the sum could pass its peak. At every
// moment
//
//     sum of what the shards count + sum of their credits == peak
//
// Adding spends the shard's credit, removing earns it: neither changes the left side, so neither
// needs to know of other shards. Who spends more than there is has overdrawn its share, and settles
// that before the operation ends: with all shards at rest it takes credit from the others, and
// raises the peak by what all of them together lack. Then the sum is the peak, and no value that
// the sum did not have is ever reported.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace outback::core {

template <size_t Count>
class peak_escrow;

/// One shard's part of `Count` counters. Not thread-safe: the shard's lock guards it.
template <size_t Count>
class escrow_share {
 public:
  void add(size_t counter, int64_t amount) noexcept { add_to(counter, std::array{amount}); }
  void remove(size_t counter, int64_t amount) noexcept { credit_[counter] += amount; }

  /// The same for counters side by side.
  template <size_t Several>
  void add_to(size_t first, const std::array<int64_t, Several>& amounts) noexcept {
    int64_t signs = signs_;
    for (size_t i = 0; i < Several; ++i) {
      added_[first + i] += amounts[i];
      signs |= credit_[first + i] -= amounts[i];
    }
    signs_ = signs;
  }

  /// True when more was added than there was credit for, and not removed since: to be settled when
  /// the lock is given back.
  bool is_overdrawn() noexcept {
    if (signs_ >= 0) return false;
    signs_ = 0;
    for (const int64_t it : credit_) signs_ |= it;
    return signs_ < 0;
  }

  int64_t current(size_t counter) const noexcept { return granted_[counter] - credit_[counter]; }
  /// All that was added, and removed, since the last reset.
  int64_t added(size_t counter) const noexcept { return added_[counter]; }
  int64_t removed(size_t counter) const noexcept {
    return at_reset_[counter] + added_[counter] - current(counter);
  }
  void reset_accumulated() noexcept {
    for (size_t i = 0; i < Count; ++i) {
      at_reset_[i] = current(i);
      added_[i] = 0;
    }
  }

 private:
  friend class peak_escrow<Count>;

  std::array<int64_t, Count> credit_{};  // below 0: overdrawn
  std::array<int64_t, Count> added_{};
  int64_t signs_ = 0;                      // below 0: so may be a credit
  std::array<int64_t, Count> granted_{};   // what the shard counts, and its credit
  std::array<int64_t, Count> at_reset_{};  // what it counted then
};

/// The peaks, and the movement of credit between the shares. Not thread-safe: the caller holds the
/// locks of all shares, and one that guards the peaks.
template <size_t Count>
class peak_escrow {
 public:
  using share = escrow_share<Count>;
  using shares = std::span<share* const>;

  int64_t peak(size_t counter) const noexcept { return peaks_[counter]; }

  /// Covers what `overdrawn`, one of `all`, has spent too much.
  void settle(shares all, share& overdrawn) noexcept {
    overdrawn.signs_ = 0;
    for (size_t i = 0; i < Count; ++i) {
      if (overdrawn.credit_[i] < 0) cover(all, overdrawn, i);
    }
  }

  /// Sets every peak to the present sum.
  void reset_peaks(shares all) noexcept {
    peaks_.fill(0);
    for (share* const it : all) {
      it->signs_ = 0;
      for (size_t i = 0; i < Count; ++i) {
        it->granted_[i] -= it->credit_[i];
        it->credit_[i] = 0;
        peaks_[i] += it->granted_[i];
      }
    }
  }

 private:
  // A half of what the others have to spare, so that a shard that grows while the others rest comes
  // here seldom; then whatever is needed, from another one first each time.
  void cover(shares all, share& overdrawn, size_t counter) noexcept {
    int64_t& own = overdrawn.credit_[counter];
    for (share* const it : all) {
      if (it != &overdrawn) move(*it, overdrawn, counter, it->credit_[counter] / 2);
    }
    ++turn_;
    for (size_t i = 0; i < all.size() && own < 0; ++i) {
      share& it = *all[(turn_ + i) % all.size()];
      if (&it != &overdrawn) move(it, overdrawn, counter, std::min(it.credit_[counter], -own));
    }
    if (own >= 0) return;
    peaks_[counter] -= own;
    overdrawn.granted_[counter] -= own;
    own = 0;
  }

  static void move(share& from, share& to, size_t counter, int64_t amount) noexcept {
    if (amount <= 0) return;
    from.credit_[counter] -= amount;
    from.granted_[counter] -= amount;
    to.credit_[counter] += amount;
    to.granted_[counter] += amount;
  }

  std::array<int64_t, Count> peaks_{};
  size_t turn_ = 0;
};

}  // namespace outback::core
