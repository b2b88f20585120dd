#include "backend_template/layers/text.hpp"

#include <charconv>
#include <cstddef>
#include <iterator>

#include "outback/detail/utf8.hpp"

namespace outback::layers {
namespace {

// By the number of the status.
constexpr const char* status_names[] = {
    "ok",          "not_ready",   "invalid_argument", "out_of_memory",
    "device_lost", "unsupported", "internal"};

// The number in hexadecimal, with zeros in front up to that many digits.
std::string hex(uint64_t number, std::size_t digits = 1) {
  char text[16];
  const auto [end, error] = std::to_chars(text, std::end(text), number, 16);
  const auto size = std::size_t(end - text);
  return std::string(size < digits ? digits - size : 0, '0') + std::string(text, size);
}

}  // namespace

const char* status_name(outback_status status) noexcept {
  return status >= 0 && status < outback_status(std::size(status_names)) ? status_names[status]
                                                                         : nullptr;
}

outback_status status_of_name(std::string_view name) noexcept {
  for (std::size_t i = 0; i < std::size(status_names); ++i) {
    if (name == status_names[i]) return outback_status(i);
  }
  return -1;
}

std::string address_text(const void* ptr) {
  return address_text(reinterpret_cast<uintptr_t>(ptr));
}

std::string address_text(uintptr_t address) {
  return address == 0 ? "null" : "0x" + hex(address);
}

std::string hex_text(const uint8_t* bytes, std::size_t size) {
  std::string text;
  for (std::size_t i = 0; i < size; ++i) text += hex(bytes[i], 2);
  return text;
}

std::string place_text(int32_t device) {
  return device == OUTBACK_HOST ? "host memory" : "device " + std::to_string(device);
}

std::string json_escaped(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const uint32_t c = outback::detail::take_character(text);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += char(c);
    } else if (c >= 0x20 && c < 0x7f) {
      out += char(c);
    } else if (c < 0x10000) {
      out += "\\u" + hex(c, 4);
    } else {
      // JSON writes characters beyond 16 bits as a pair of surrogates (RFC 8259).
      out += "\\u" + hex(0xd800 + ((c - 0x10000) >> 10), 4);
      out += "\\u" + hex(0xdc00 + ((c - 0x10000) & 0x3ff), 4);
    }
  }
  return out;
}

}  // namespace outback::layers
