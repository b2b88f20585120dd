// The free blocks of one arena, in bins by size. Finds a block that fits as well as may be in a few
// loads: eight bins to a doubling, and a bit for every bin that has something.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "backend_template/core/memory/allocator/block.h"

namespace outback::core {

inline constexpr size_t smallest_block = 64;  // every size is a multiple of it
inline constexpr int largest_log2 = 47;
/// Requests above this do not fit any device.
inline constexpr size_t largest_request = size_t{1} << largest_log2;

/// The bin of blocks of `size` bytes; those of a higher bin are larger. Steps of 64 bytes up to 1
/// KiB.
constexpr int bin_of(size_t size) {
  if (size < 1024) return static_cast<int>(size / smallest_block) - 1;
  const int log2 = static_cast<int>(std::bit_width(size)) - 1;
  return 15 + (log2 - 10) * 8 + static_cast<int>((size >> (log2 - 3)) - 8);
}

inline constexpr int bin_count = bin_of(largest_request) + 1;

static_assert(bin_of(64) == 0 && bin_of(960) == 14 && bin_of(1024) == 15 && bin_of(1088) == 15);
static_assert(bin_of(1152) == 16 && bin_of(2047) == 22 && bin_of(2048) == 23);

/// Not thread-safe. Links the blocks by their `previous` and `next`; owns nothing.
class free_blocks {
 public:
  void insert(block* it) noexcept;
  void remove(block* it) noexcept;

  /// The smallest block of at least `size` bytes, or one that is at most an eighth larger than it;
  /// null when there is none. Left where it is.
  block* best_fit(size_t size) const noexcept;

  /// Bytes of the largest block.
  size_t largest() const noexcept;

  /// Calls `visit` with every block; it may remove that block.
  template <class F>
  void for_each(F visit) const {
    for (block* head : bins_) {
      for (block* it = head; it != nullptr;) {
        block* const next = it->next;
        visit(it);
        it = next;
      }
    }
  }

 private:
  static constexpr int word_bits = 64;
  static constexpr int word_count = (bin_count + word_bits - 1) / word_bits;

  /// The first bin from `start` on that has something; bin_count when none has.
  int first_filled(int start) const noexcept;

  std::array<uint64_t, word_count> filled_{};
  std::array<block*, bin_count> bins_{};
};

/// Blocks above this size merge at once: what they would keep apart is too much.
inline constexpr size_t largest_recent = size_t{64} << 10;

/// The block of each bin that was freed last. Most often the next request is for as much: then
/// there is nothing to merge and split again. Not thread-safe; owns nothing.
class recent_blocks {
 public:
  /// A block of exactly `size` bytes, taken out; or null.
  block* take(size_t size) noexcept {
    block*& slot = bins_[bin_of(size)];
    if (slot == nullptr || slot->size != size) return nullptr;
    return remove(slot);
  }

  /// Puts the block in; answers the one that was in its place, or null.
  block* exchange(block* it) noexcept {
    block*& slot = bins_[bin_of(it->size)];
    block* const before = slot;
    if (before == nullptr) ++count_;
    slot = it;
    return before;
  }

  bool empty() const noexcept { return count_ == 0; }

  /// Bins there are, where `take_any` starts.
  static constexpr int bins = bin_of(largest_recent) + 1;

  /// The largest block of the bins under `below`, which becomes its bin, taken out; null when there
  /// is none.
  block* take_any(int& below) noexcept {
    while (count_ != 0 && below > 0) {
      if (block*& slot = bins_[--below]; slot != nullptr) return remove(slot);
    }
    return nullptr;
  }

 private:
  block* remove(block*& slot) noexcept {
    block* const it = slot;
    slot = nullptr;
    --count_;
    return it;
  }

  std::array<block*, bins> bins_{};
  int count_ = 0;
};

}  // namespace outback::core
