// Fills a range with a pattern that the driver's own fill does not support. The CUDA and Level Zero
// runtimes use this for mem_fill.
//
// A few short fills write the pattern once, at the beginning of the range. Then each copy on the
// device doubles the filled part: a range of n patterns takes about log2(n) copies, and each byte
// is written once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace outback {

/// Returns the length in bytes of the shortest prefix whose repetition is the whole pattern: 1 for
/// eight equal bytes, 8 for eight different ones. `size` is the pattern's length in bytes. `size`
/// and the result are powers of two.
inline std::size_t pattern_period(const std::byte* pattern, std::size_t size) {
  while (size > 1 && std::memcmp(pattern, pattern + size / 2, size / 2) == 0) size /= 2;
  return size;
}

/// Fills `size` bytes with the first `period` bytes of `pattern`, over and over. All sizes and
/// offsets are in bytes; offsets count from the beginning of the range.
///
/// `fill(offset, word)` must fill the `word_size` bytes at `offset` with the bytes at `word`.
/// `copy(to, from, size)` must copy between two parts of the range that do not overlap. Both must
/// enqueue on the same stream, because each copy reads what the calls before it wrote.
///
/// `word_size` divides `period`, and `period` divides `size`. Passes on exceptions of `fill` and
/// `copy`; work that they enqueued before stays enqueued.
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
