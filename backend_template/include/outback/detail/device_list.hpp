// Reads a list of devices in the syntax of CUDA_VISIBLE_DEVICES, as CUDA (programming guide, "CUDA
// environment variables") and torch.cuda (torch/cuda/__init__.py) read it. The CUDA runtime and the
// layer that hides devices (layers/visible_devices.cpp) use it.
//
// - A list holds indices, or UUIDs ("GPU-..."), which may be cut short as long as only one device
//   fits. If the first entry is an index, all are; if it is a UUID, all are.
// - The first entry that names no device ends the list; the entries before it count.
// - A list that names a device twice selects no device at all.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
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
/// number beyond 64 bits counts as UINT64_MAX. Returns nullopt if the entry does not begin with a
/// number; a minus sign does not begin a number.
inline std::optional<uint64_t> device_list_number(std::string_view entry) {
  if (entry.starts_with('+')) entry.remove_prefix(1);  // which from_chars does not accept
  uint64_t number = 0;
  const auto read = std::from_chars(entry.data(), entry.data() + entry.size(), number);
  if (read.ec == std::errc::result_out_of_range) return UINT64_MAX;
  return read.ec == std::errc() ? std::optional(number) : std::nullopt;
}

inline constexpr std::string_view uuid_prefix = "GPU-";

/// Returns a UUID of 16 bytes in the form of nvidia-smi: "GPU-" and groups of 8, 4, 4, 4 and 12
/// hexadecimal digits.
inline std::string uuid_text(const void* uuid) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text(uuid_prefix);
  for (std::size_t i = 0; i < 16; ++i) {
    const auto byte = static_cast<const unsigned char*>(uuid)[i];
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += digits[byte >> 4];
    text += digits[byte & 0xf];
  }
  return text;
}

/// Returns the index of the one UUID that begins with `entry`; nullopt if no UUID or several UUIDs
/// do.
inline std::optional<uint64_t> device_of_uuid(std::string_view entry,
                                              const std::vector<std::string>& uuids) {
  const auto fits = [&](const std::string& uuid) { return uuid.starts_with(entry); };
  const auto found = std::find_if(uuids.begin(), uuids.end(), fits);
  const bool is_one = entry.starts_with(uuid_prefix) && found != uuids.end() &&
                      std::none_of(found + 1, uuids.end(), fits);
  return is_one ? std::optional(uint64_t(found - uuids.begin())) : std::nullopt;
}

/// Returns the indices, below `count`, of the devices that the list names, in the order of the
/// list. `uuids()` returns the UUIDs of all devices, and is called only if the list begins with
/// one.
template <class Uuids>
std::vector<int32_t> listed_devices(std::string_view list, int32_t count, const Uuids& uuids) {
  const std::vector<std::string_view> entries = device_list_entries(list);
  const bool by_uuid = entries.front().starts_with(uuid_prefix);
  const std::vector<std::string> known = by_uuid ? uuids() : std::vector<std::string>();
  std::vector<uint64_t> numbers;
  for (const std::string_view entry : entries) {
    const auto number = by_uuid ? device_of_uuid(entry, known) : device_list_number(entry);
    if (!number) break;
    if (std::find(numbers.begin(), numbers.end(), *number) != numbers.end()) return {};
    numbers.push_back(*number);
  }
  // Look for repeated numbers before numbers that are too large: "0,9,9" names a device twice, even
  // if there is no device 9.
  const auto end = std::find_if(numbers.begin(), numbers.end(),
                                [&](uint64_t n) { return n >= uint64_t(count); });
  return {numbers.begin(), end};
}

}  // namespace outback::detail
