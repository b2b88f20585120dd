// Exact peaks of counters that several shards count without a common lock. The allocator's shards
// are its streams.
//
// The peak of a sum is not the sum of the shards' peaks. So each shard holds a credit beside its
// count: how much it may still add before the sum could exceed its peak. At every moment
//
//     sum of the shards' counts + sum of their credits == peak
//
// Adding takes from the shard's credit and removing gives to it. Neither changes the left side, so
// neither needs to know of other shards. A shard whose credit falls below zero is overdrawn. It
// settles that before its operation ends, with all shards locked: it takes credit from the others,
// and if all credit together does not suffice, it raises the peak by what is missing. In that case
// the sum equals the new peak. So the peak never has a value that the sum did not have.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace outback::core {

template <size_t Count>
class peak_escrow;

/// One shard's part of `Count` counters. The shard's lock guards it.
template <size_t Count>
class escrow_share {
 public:
  void add(size_t counter, int64_t amount) noexcept { add_to(counter, std::array{amount}); }
  void remove(size_t counter, int64_t amount) noexcept { credit_[counter] += amount; }

  /// Adds `amounts` to as many counters, side by side from `first` on. Without a branch in the
  /// loop: it runs on every allocation.
  template <size_t Several>
  void add_to(size_t first, const std::array<int64_t, Several>& amounts) noexcept {
    int64_t signs = signs_;
    for (size_t i = 0; i < Several; ++i) {
      added_[first + i] += amounts[i];
      signs |= credit_[first + i] -= amounts[i];
    }
    signs_ = signs;
  }

  /// Returns true if a credit is below zero: then the peaks have to be settled when the lock is
  /// released.
  bool is_overdrawn() noexcept {
    if (signs_ >= 0) return false;
    // A credit was negative at some time; a removal may have raised it again.
    signs_ = 0;
    for (const int64_t credit : credit_) signs_ |= credit;
    return signs_ < 0;
  }

  /// Returns the shard's count.
  int64_t current(size_t counter) const noexcept { return granted_[counter] - credit_[counter]; }
  /// Return all that was added, and removed, since the last reset.
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

  std::array<int64_t, Count> credit_{};
  std::array<int64_t, Count> added_{};
  // All credits since the last check, or-ed: negative if one of them was.
  int64_t signs_ = 0;
  // The shard's count plus its credit. Only the movement of credit changes it, so that adding
  // writes no more than `credit_` and `added_`.
  std::array<int64_t, Count> granted_{};
  std::array<int64_t, Count> at_reset_{};  // the counts at the last reset
};

/// The peaks, and the movement of credit between the shares. The caller holds the locks of all
/// shares, and one that guards this object.
template <size_t Count>
class peak_escrow {
 public:
  using share = escrow_share<Count>;
  using shares = std::span<share* const>;

  /// Returns the highest sum since the last reset. Exact while no share is overdrawn.
  int64_t peak(size_t counter) const noexcept { return peaks_[counter]; }

  /// Raises the credits of `overdrawn`, one of `all`, to zero or more.
  void settle(shares all, share& overdrawn) noexcept {
    overdrawn.signs_ = 0;
    for (size_t i = 0; i < Count; ++i) {
      if (overdrawn.credit_[i] < 0) cover(all, overdrawn, i);
    }
  }

  /// Sets every peak to the present sum, so that no share has any credit.
  void reset_peaks(shares all) noexcept {
    peaks_.fill(0);
    for (share* const each : all) {
      each->signs_ = 0;
      for (size_t i = 0; i < Count; ++i) {
        each->granted_[i] -= each->credit_[i];
        each->credit_[i] = 0;
        peaks_[i] += each->granted_[i];
      }
    }
  }

 private:
  // Takes half of what each other share has, so that a shard which grows while the others rest
  // comes here seldom. If that does not suffice, takes what is missing, each time from another
  // share first.
  void cover(shares all, share& overdrawn, size_t counter) noexcept {
    int64_t& own = overdrawn.credit_[counter];
    for (share* const other : all) {
      if (other != &overdrawn) move_credit(*other, overdrawn, counter, other->credit_[counter] / 2);
    }
    ++turn_;
    for (size_t i = 0; i < all.size() && own < 0; ++i) {
      share& other = *all[(turn_ + i) % all.size()];
      if (&other != &overdrawn)
        move_credit(other, overdrawn, counter, std::min(other.credit_[counter], -own));
    }
    if (own >= 0) return;
    peaks_[counter] -= own;
    overdrawn.granted_[counter] -= own;
    own = 0;
  }

  // Does nothing if `from` has no credit.
  static void move_credit(share& from, share& to, size_t counter, int64_t amount) noexcept {
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
