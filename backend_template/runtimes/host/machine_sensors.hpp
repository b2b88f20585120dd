// What Linux reports about the machine that the host runtime's devices stand for. Telemetry reads
// it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace outback::host {

/// Returns the clock rate of the first processor in hertz, from cpufreq in /sys or, where that is
/// missing, from /proc/cpuinfo. Returns nullopt where the system reports neither. `root` stands for
/// "/" in a test. Reads files on each call; may be called from any thread.
std::optional<int64_t> clock_rate(const std::filesystem::path& root = "/");

/// Returns a temperature in thousandths of a degree Celsius: of the first thermal zone that belongs
/// to the processor, or of the first zone that can be read if none says so. Returns nullopt where
/// there is no such zone. `root`, cost and threads as above.
std::optional<int64_t> temperature(const std::filesystem::path& root = "/");

}  // namespace outback::host
