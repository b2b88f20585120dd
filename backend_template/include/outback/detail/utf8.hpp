// Reading text that may not be UTF-8: what comes from outside is any bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace outback::detail {

inline constexpr uint32_t no_character = 0xfffd;  // U+FFFD

/// Takes the first character of `text`, which is not empty, and answers its number; U+FFFD, for one
/// byte, where there is none.
inline uint32_t take_character(std::string_view& text) {
  const auto byte = [&](std::size_t i) { return uint32_t(static_cast<unsigned char>(text[i])); };
  const uint32_t first = byte(0);
  const std::size_t size = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  uint32_t code = size == 1 ? first : first & (0xffu >> (size + 1));
  bool valid = size == 1 || (first >= 0xc2 && first <= 0xf4 && text.size() >= size);
  for (std::size_t i = 1; valid && i < size; ++i) {
    valid = (byte(i) & 0xc0) == 0x80;
    code = code << 6 | (byte(i) & 0x3f);
  }
  // Not longer than need be, no half of a pair, nothing beyond the last plane.
  valid = valid && !(size == 3 && code < 0x800) && !(size == 4 && code < 0x10000) &&
          !(code >= 0xd800 && code < 0xe000) && code < 0x110000;
  text.remove_prefix(valid ? size : 1);
  return valid ? code : no_character;
}

}  // namespace outback::detail
