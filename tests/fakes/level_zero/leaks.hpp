// What still lives, by kind, and whether it may when the process ends.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace outback::software_ze {

/// How many objects of a kind live; nullopt for a word that is no kind. 0 before the driver is
/// initialised.
std::optional<uint64_t> count_live(std::string_view kind);

/// Throws std::invalid_argument if one of them is neither a kind nor "1".
void check_leak_kinds(const std::set<std::string, std::less<>>& kinds);

}  // namespace outback::software_ze
