// What Linux tells of the machine that a host device is.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace outback::host {

/// Of the first processor, in hertz: from cpufreq or, where there is none, /proc/cpuinfo. `root`
/// stands for / in a test. nullopt where the system says nothing.
std::optional<int64_t> clock_rate(const std::filesystem::path& root = "/");

/// In thousandths of a degree Celsius: of the processor where a thermal zone says that it is one's,
/// else of the first zone that can be read.
std::optional<int64_t> temperature(const std::filesystem::path& root = "/");

}  // namespace outback::host
