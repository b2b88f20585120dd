// Splits a list of devices in the syntax of CUDA_VISIBLE_DEVICES, as CUDA and torch.cuda read it.
// The CUDA runtime and the layer that hides devices (layers/visible_devices.cpp) use it.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

namespace outback::detail {

/// Returns the entries between the commas, without the spaces and tabs around them. There is always
/// at least one entry, and an entry may be empty. The entries point into `list`, which must outlive
/// them.
inline std::vector<std::string_view> device_list_entries(std::string_view list) {
  // torch.cuda strips each entry of a list of numbers, too.
  constexpr std::string_view blanks = " \t";
  std::vector<std::string_view> entries;
  for (;;) {
    const std::size_t comma = list.find(',');
    std::string_view entry = list.substr(0, comma);
    const std::size_t first = entry.find_first_not_of(blanks);
    if (first == std::string_view::npos) {
      entry = {};
    } else {
      entry = entry.substr(first, entry.find_last_not_of(blanks) - first + 1);
    }
    entries.push_back(entry);
    if (comma == std::string_view::npos) return entries;
    list.remove_prefix(comma + 1);
  }
}

/// Returns the number that `entry` begins with: 1 for "1gpu" and for "+1", as strtoul reads it. A
/// number beyond 64 bits counts as UINT64_MAX. Returns nullopt if the entry begins with no number;
/// a minus sign is none.
inline std::optional<uint64_t> device_list_number(std::string_view entry) {
  if (entry.starts_with('+')) entry.remove_prefix(1);  // which from_chars does not accept
  uint64_t number = 0;
  const auto read = std::from_chars(entry.data(), entry.data() + entry.size(), number);
  if (read.ec == std::errc::result_out_of_range) return UINT64_MAX;
  return read.ec == std::errc() ? std::optional(number) : std::nullopt;
}

}  // namespace outback::detail
