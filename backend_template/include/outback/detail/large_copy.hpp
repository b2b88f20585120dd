// memcpy for copies that may be large: those of the host runtime, and those that a thread of the
// program makes between the host and memory that it can address. A header without a library, like
// detail/variables.hpp, because runtimes and torch half have only the contract's headers in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace outback {

#if defined(__SSE2__)
namespace detail {

// Of one cache line of 64 bytes; `to` is aligned to it.
inline void stream_line(std::byte* to, const std::byte* from) noexcept {
  auto* const out = reinterpret_cast<__m128i*>(to);
  const auto* const in = reinterpret_cast<const __m128i*>(from);
  const __m128i a = _mm_loadu_si128(in), b = _mm_loadu_si128(in + 1);
  const __m128i c = _mm_loadu_si128(in + 2), d = _mm_loadu_si128(in + 3);
  _mm_stream_si128(out, a);
  _mm_stream_si128(out + 1, b);
  _mm_stream_si128(out + 2, c);
  _mm_stream_si128(out + 3, d);
}

}  // namespace detail
#endif

/// Does what memcpy does. What is larger than the caches goes past them: memcpy would read each
/// line of `dst` before it overwrites it, so that half as much again moves. On the calling thread;
/// when it returns, other threads may see all of `dst`.
inline void copy_memory(void* dst, const void* src, std::size_t size) noexcept {
#if defined(__SSE2__)
  // In bytes. `dst` and `src` of that size fill a third-level cache of 32 MiB. What is smaller may
  // be in it, and is there for whoever reads `dst` next: past the cache, 8 MiB take 1.4 times as
  // long.
  constexpr std::size_t large = std::size_t{16} << 20;
  constexpr std::size_t line = 64;
  if (size >= large) {
    auto* to = static_cast<std::byte*>(dst);
    const auto* from = static_cast<const std::byte*>(src);
    const std::size_t head = (line - reinterpret_cast<std::uintptr_t>(to) % line) % line;
    std::memcpy(to, from, head);
    to += head, from += head, size -= head;
    // One line after the other. glibc's memcpy has two or four pages in turns, which stall where
    // `dst` is a line or two ahead of `src` within its page, as a tensor of the CPU's is ahead of a
    // device's: each load then waits for the store of a line with the same low twelve bits. On an
    // EPYC that takes 2 to 5 times as long, and at other offsets turns are no faster. A processor
    // fetches ahead by itself, but not beyond a page's end, so the next page's line is asked for:
    // on a later EPYC that is worth 4 in 100, and a nearer line costs up to 40. Ahead of the last
    // lines there may be nothing, which a prefetch does not mind.
    constexpr std::size_t page = 4096;
    for (; size >= line; to += line, from += line, size -= line) {
      _mm_prefetch(reinterpret_cast<const char*>(from) + page, _MM_HINT_T0);
      detail::stream_line(to, from);
    }
    _mm_sfence();  // streamed lines are in no order with later writes
    dst = to, src = from;
  }
  // glibc's memcpy goes past the cache from a size on that depends on the machine: in pieces it
  // does not.
  constexpr std::size_t piece = std::size_t{1} << 20;
  for (; size > piece; size -= piece) {
    std::memcpy(dst, src, piece);
    dst = static_cast<std::byte*>(dst) + piece, src = static_cast<const std::byte*>(src) + piece;
  }
#endif
  std::memcpy(dst, src, size);
}

}  // namespace outback
