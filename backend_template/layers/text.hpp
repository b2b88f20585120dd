// Small pieces of the texts that layers make: names of statuses, addresses, and escapes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "outback/runtime.h"

namespace outback::layers {

/// Returns the constant of outback/runtime.h in lower case without its prefix: "ok",
/// "out_of_memory" and so on. Null for a number that is not a status.
const char* status_name(outback_status status) noexcept;

/// Returns the status with this name (see `status_name`); -1 if there is none.
outback_status status_of_name(std::string_view name) noexcept;

/// Returns "0x7f0012345600", or "null".
std::string address_text(const void* ptr);
std::string address_text(uintptr_t address);

/// Returns two hexadecimal digits for each byte.
std::string hex_text(const uint8_t* bytes, std::size_t size);

/// Returns "device 1", or "host memory" for OUTBACK_HOST.
std::string place_text(int32_t device);

/// Returns `text` as the inside of a JSON string: ASCII, with every other character escaped. A byte
/// that is not part of valid UTF-8 becomes U+FFFD.
std::string json_escaped(std::string_view text);

}  // namespace outback::layers
