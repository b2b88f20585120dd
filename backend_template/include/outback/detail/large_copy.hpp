// memcpy for copies that may be large. The host runtime uses it, and so does the torch half where a
// thread of the program copies between the host and device memory that the thread can address. It
// is a header without a library, like detail/variables.hpp, because the runtimes and the torch half
// share only the contract's headers.
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

// Copies one cache line of 64 bytes past the caches. `to` is aligned to 64 bytes.
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

/// Does what memcpy does, on the calling thread. Copies larger than the caches go past them: memcpy
/// would read each line of `dst` before it overwrites that line, and so move half as much data
/// again. When the call returns, other threads may see all of `dst`.
inline void copy_memory(void* dst, const void* src, std::size_t size) noexcept {
#if defined(__SSE2__)
  // In bytes. `dst` and `src` of this size together fill a third-level cache of 32 MiB. Smaller
  // copies go through the cache, where the next reader finds `dst`: past the cache, 8 MiB take 1.4
  // times as long.
  constexpr std::size_t large = std::size_t{16} << 20;
  constexpr std::size_t line = 64;
  if (size >= large) {
    auto* to = static_cast<std::byte*>(dst);
    const auto* from = static_cast<const std::byte*>(src);
    const std::size_t head = (line - reinterpret_cast<std::uintptr_t>(to) % line) % line;
    std::memcpy(to, from, head);
    to += head, from += head, size -= head;
    // Copy one line after the other. glibc's memcpy alternates between two or four pages. That
    // stalls if `dst` is a line or two ahead of `src` within its page, as a CPU tensor often is
    // ahead of a device's tensor: each load then waits for the store to a line with the same low
    // twelve bits. On an EPYC such a copy takes 2 to 5 times as long, and at other offsets
    // alternating is no faster. A processor prefetches by itself, but not beyond the end of a page,
    // so the loop prefetches the same line of the next page: on a later EPYC this saves 4 %, while
    // prefetching a nearer line costs up to 40 %. Near the end of `src` the prefetched address may
    // be unmapped, which is harmless.
    constexpr std::size_t page = 4096;
    for (; size >= line; to += line, from += line, size -= line) {
      _mm_prefetch(reinterpret_cast<const char*>(from) + page, _MM_HINT_T0);
      detail::stream_line(to, from);
    }
    _mm_sfence();  // orders the streamed lines before later writes
    dst = to, src = from;
  }
  // Copy in pieces: glibc's memcpy goes past the cache for sizes above a limit that depends on the
  // machine.
  constexpr std::size_t piece = std::size_t{1} << 20;
  for (; size > piece; size -= piece) {
    std::memcpy(dst, src, piece);
    dst = static_cast<std::byte*>(dst) + piece, src = static_cast<const std::byte*>(src) + piece;
  }
#endif
  std::memcpy(dst, src, size);
}

}  // namespace outback
