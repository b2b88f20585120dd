// Small pieces of the texts that layers make.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "outback/runtime.h"

namespace outback::layers {

/// "ok", "out_of_memory" and so on: the constant of outback/runtime.h in lower case; null for a
/// number that is none of them.
const char* status_name(outback_status status) noexcept;

/// The status that `status_name` calls so, or -1.
outback_status status_of_name(std::string_view name) noexcept;

/// 0x7f0012345600, or null.
std::string address_text(const void* ptr);
std::string address_text(uintptr_t address);

/// Two digits for each byte.
std::string hex_text(const uint8_t* bytes, std::size_t size);

/// "device 1", "host memory".
std::string place_text(int32_t device);

/// `text` as the inside of a JSON string: ASCII, with every other character escaped. What is not
/// UTF-8 becomes U+FFFD.
std::string json_escaped(std::string_view text);

/// `text` in one line: control characters and backslashes are escaped as in C.
std::string in_one_line(std::string_view text);

}  // namespace outback::layers
