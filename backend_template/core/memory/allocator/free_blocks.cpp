#include "backend_template/core/memory/allocator/free_blocks.h"

#include <algorithm>
#include <limits>

namespace outback::core {
namespace {

// How many blocks of a bin are looked at while there are others that fit. A bin full of blocks that
// are too small must not make allocation slow.
constexpr int longest_search = 64;
constexpr int whole_bin = std::numeric_limits<int>::max();

// Returns the smallest block that fits among the first `left` of a bin, or null.
block* best_of(block* head, size_t size, int left) noexcept {
  block* best = nullptr;
  for (block* each = head; each != nullptr && left > 0; each = each->next, --left) {
    if (each->size < size || (best != nullptr && each->size >= best->size)) continue;
    best = each;
    if (each->size == size) break;  // none can be better
  }
  return best;
}

}  // namespace

void free_blocks::insert(block* added) noexcept {
  const int bin = bin_of(added->size);
  block*& head = bins_[bin];
  added->previous = nullptr;
  added->next = head;
  if (head != nullptr) head->previous = added;
  head = added;
  filled_[bin / word_bits] |= uint64_t{1} << (bin % word_bits);
}

void free_blocks::remove(block* removed) noexcept {
  if (removed->next != nullptr) removed->next->previous = removed->previous;
  if (removed->previous != nullptr) {
    removed->previous->next = removed->next;
  } else {
    const int bin = bin_of(removed->size);
    bins_[bin] = removed->next;
    if (removed->next == nullptr) filled_[bin / word_bits] &= ~(uint64_t{1} << (bin % word_bits));
  }
  removed->previous = removed->next = nullptr;
}

int free_blocks::first_filled(int start) const noexcept {
  if (start >= bin_count) return bin_count;
  int word = start / word_bits;
  uint64_t bits = filled_[word] & (~uint64_t{0} << (start % word_bits));
  while (bits == 0) {
    if (++word == word_count) return bin_count;
    bits = filled_[word];
  }
  return word * word_bits + std::countr_zero(bits);
}

block* free_blocks::best_fit(size_t size) const noexcept {
  const int own = bin_of(size);
  // In its own bin a block may be too small. In any higher bin every block is large enough, so the
  // first bin that is not empty has one.
  if (block* const found = best_of(bins_[own], size, longest_search)) return found;
  const int larger = first_filled(own + 1);
  if (larger != bin_count) return best_of(bins_[larger], size, longest_search);
  // The last chance: without a block the caller asks the runtime for memory, which takes longer.
  return best_of(bins_[own], size, whole_bin);
}

block* free_blocks::smallest_fit(size_t size) const noexcept {
  const int own = bin_of(size);
  if (block* const found = best_of(bins_[own], size, whole_bin)) return found;
  const int larger = first_filled(own + 1);
  return larger == bin_count ? nullptr : best_of(bins_[larger], size, whole_bin);
}

size_t free_blocks::largest() const noexcept {
  size_t most = 0;
  // The largest block is in the highest bin that is not empty.
  for (int word = word_count - 1; word >= 0; --word) {
    if (filled_[word] == 0) continue;
    const int bin = word * word_bits + word_bits - 1 - std::countl_zero(filled_[word]);
    for (const block* each = bins_[bin]; each != nullptr; each = each->next)
      most = std::max(most, each->size);
    break;
  }
  return most;
}

}  // namespace outback::core
