// The free blocks of one arena, in bins by size. Each doubling of the size has eight bins, and a
// bit marks each bin that is not empty, so a search for a block takes a few loads.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "backend_template/core/memory/allocator/block.h"

namespace outback::core {

/// The smallest block in bytes. Every block's size is a multiple of this.
inline constexpr size_t smallest_block = 64;
inline constexpr int largest_log2 = 47;
/// The largest request in bytes: 128 TiB, more than any device has. Callers refuse larger requests
/// earlier.
inline constexpr size_t largest_request = size_t{1} << largest_log2;

/// Returns the bin of blocks of `size` bytes, a multiple of 64, at least 64. Larger sizes are in
/// the same or a higher bin. Below 1 KiB each multiple of 64 has its own bin; from 1 KiB on, each
/// doubling has eight bins.
constexpr int bin_of(size_t size) {
  if (size < 1024) return static_cast<int>(size / smallest_block) - 1;
  const int log2 = static_cast<int>(std::bit_width(size)) - 1;
  return 15 + (log2 - 10) * 8 + static_cast<int>((size >> (log2 - 3)) - 8);
}

inline constexpr int bin_count = bin_of(largest_request) + 1;

static_assert(bin_of(64) == 0 && bin_of(960) == 14 && bin_of(1024) == 15 && bin_of(1088) == 15);
static_assert(bin_of(1152) == 16 && bin_of(2047) == 22 && bin_of(2048) == 23);

/// A set of blocks, linked by their `previous` and `next`. Not thread-safe. Owns nothing.
class free_blocks {
 public:
  /// Adds a block that is in no list. Its size must not change while it is in the set.
  void insert(block* added) noexcept;
  /// Removes a block that is in this set.
  void remove(block* removed) noexcept;

  /// Returns a block of at least `size` bytes, or null if no block fits. The block stays in the
  /// set. It is the smallest fitting block of its bin, so at most an eighth larger than the best
  /// fit. In a bin of more than 64 blocks only the first 64 are searched, unless the set has no
  /// other fitting block.
  block* best_fit(size_t size) const noexcept;
  /// Returns the smallest block of at least `size` bytes, or null if no block fits. Searches all
  /// blocks of up to two bins.
  block* smallest_fit(size_t size) const noexcept;

  /// Returns the size of the largest block in bytes, or 0 without blocks.
  size_t largest() const noexcept;

  /// Calls `visit` with every block. `visit` may remove the block that it gets.
  template <class F>
  void for_each(F visit) const {
    for (block* head : bins_) {
      for (block* each = head; each != nullptr;) {
        block* const next = each->next;
        visit(each);
        each = next;
      }
    }
  }

 private:
  static constexpr int word_bits = 64;
  static constexpr int word_count = (bin_count + word_bits - 1) / word_bits;

  /// Returns the first bin from `start` on that is not empty, or bin_count.
  int first_filled(int start) const noexcept;

  std::array<uint64_t, word_count> filled_{};  // a bit for each bin
  std::array<block*, bin_count> bins_{};
};

/// The largest recent block in bytes. A larger block is merged with its neighbours as soon as it is
/// freed, since as a recent block it would keep too much memory split.
inline constexpr size_t largest_recent = size_t{64} << 10;

/// For each bin, the block that was freed last, not merged with its neighbours. The next request
/// usually has the same size, and gets this block without a merge and a split. Not thread-safe.
/// Owns nothing.
class recent_blocks {
 public:
  /// Removes and returns a block of exactly `size` bytes, or returns null.
  block* take(size_t size) noexcept {
    block*& slot = bins_[bin_of(size)];
    if (slot == nullptr || slot->size != size) return nullptr;
    return remove(slot);
  }

  /// Puts the block into its bin. Returns the previous block of the bin, or null.
  block* exchange(block* freed) noexcept {
    block*& slot = bins_[bin_of(freed->size)];
    block* const before = slot;
    if (before == nullptr) ++count_;
    slot = freed;
    return before;
  }

  bool empty() const noexcept { return count_ == 0; }

  /// The number of bins. A walk with `take_any` starts here.
  static constexpr int bins = bin_of(largest_recent) + 1;

  /// Removes and returns the block of the highest filled bin under `below`, and sets `below` to
  /// that bin. Returns null if all these bins are empty.
  block* take_any(int& below) noexcept {
    while (count_ != 0 && below > 0) {
      if (block*& slot = bins_[--below]; slot != nullptr) return remove(slot);
    }
    return nullptr;
  }

 private:
  block* remove(block*& slot) noexcept {
    block* const taken = slot;
    slot = nullptr;
    --count_;
    return taken;
  }

  std::array<block*, bins> bins_{};
  int count_ = 0;  // bins that are filled
};

}  // namespace outback::core
