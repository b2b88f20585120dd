// How a range is filled with a pattern that the driver has no fill for: a few short fills make one
// piece of it, and copies on the device double what is there. A range of n pieces takes log2(n)
// copies, and its memory is written once and read once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace outback {

/// The length of the smallest piece that the pattern is a repetition of. `size`: a power of two.
inline std::size_t pattern_period(const std::byte* pattern, std::size_t size) {
  while (size > 1 && std::memcmp(pattern, pattern + size / 2, size / 2) == 0) size /= 2;
  return size;
}

/// `fill(offset, word)` fills the `word_size` bytes at `offset` with those at `word`, and
/// `copy(to, from, size)` copies between offsets that do not overlap; both enqueue on one stream.
/// `word_size` divides `period`, which divides `size`.
template <class Fill, class Copy>
void fill_by_doubling(std::size_t size, const std::byte* pattern, std::size_t period,
                      std::size_t word_size, const Fill& fill, const Copy& copy) {
  for (std::size_t at = 0; at < period; at += word_size) fill(at, pattern + at);
  for (std::size_t done = period; done < size;) {
    const std::size_t part = std::min(done, size - done);
    copy(done, std::size_t{0}, part);
    done += part;
  }
}

}  // namespace outback
