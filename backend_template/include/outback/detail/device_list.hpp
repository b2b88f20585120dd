// Reading a list of devices as CUDA_VISIBLE_DEVICES is read, by CUDA and by torch.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

namespace outback::detail {

/// What is between the commas, without the blanks around it: at least one entry. They point into
/// `list`.
inline std::vector<std::string_view> device_list_entries(std::string_view list) {
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

/// The number that an entry begins with, as strtoul reads it: 1 of `1gpu`, and the largest there is
/// for one that is larger. nullopt where there is none.
inline std::optional<uint64_t> device_list_number(std::string_view entry) {
  if (entry.starts_with('+')) entry.remove_prefix(1);
  uint64_t number = 0;
  const auto read = std::from_chars(entry.data(), entry.data() + entry.size(), number);
  if (read.ec == std::errc::result_out_of_range) return UINT64_MAX;
  return read.ec == std::errc() ? std::optional(number) : std::nullopt;
}

}  // namespace outback::detail
