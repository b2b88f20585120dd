// Reads and shows text from outside, such as a variable or a driver's message, that may not be
// valid UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace outback::detail {

/// U+FFFD, the replacement character. It stands for a byte that is not part of valid UTF-8.
inline constexpr uint32_t no_character = 0xfffd;

/// Removes the first character from `text`, which must not be empty, and returns its code point. If
/// `text` does not begin with a valid character, removes one byte and returns U+FFFD. A valid
/// U+FFFD in the text removes three bytes.
inline uint32_t take_character(std::string_view& text) {
  const auto byte = [&](std::size_t i) { return uint32_t(static_cast<unsigned char>(text[i])); };
  const uint32_t first = byte(0);
  // How many bytes the character has, according to its first byte.
  const std::size_t size = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  uint32_t code = size == 1 ? first : first & (0xffu >> (size + 1));
  bool valid = size == 1 || (first >= 0xc2 && first <= 0xf4 && text.size() >= size);
  for (std::size_t i = 1; valid && i < size; ++i) {
    valid = (byte(i) & 0xc0) == 0x80;
    code = code << 6 | (byte(i) & 0x3f);
  }
  // Overlong forms, halves of surrogate pairs and numbers beyond U+10FFFF are not UTF-8 (RFC 3629).
  valid = valid && !(size == 3 && code < 0x800) && !(size == 4 && code < 0x10000) &&
          !(code >= 0xd800 && code < 0xe000) && code < 0x110000;
  text.remove_prefix(valid ? size : 1);
  return valid ? code : no_character;
}

/// Removes the first character as `take_character` does, and returns its bytes; "" if `text` does
/// not begin with a valid character.
inline std::string_view take_bytes(std::string_view& text) {
  const std::string_view rest = text;
  const uint32_t character = take_character(text);
  const std::size_t size = rest.size() - text.size();
  return rest.substr(0, character == no_character && size == 1 ? 0 : size);
}

/// Returns `text` in one line and as valid UTF-8: every control character and every byte that is
/// not part of valid UTF-8 becomes \xHH. Error messages need this, since Python cannot make an
/// exception from text that is not UTF-8.
inline std::string printable(std::string_view text) {
  constexpr char digits[] = "0123456789abcdef";
  std::string out;
  while (!text.empty()) {
    const auto byte = static_cast<unsigned char>(text.front());
    const std::string_view character = take_bytes(text);
    if (!character.empty() && byte >= 0x20 && byte != 0x7f) {
      out += character;
    } else {
      out += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
    }
  }
  return out;
}

}  // namespace outback::detail
