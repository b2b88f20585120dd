#include "backend_template/runtimes/host/machine_sensors.hpp"

#include <charconv>
#include <fstream>
#include <string>
#include <system_error>

namespace outback::host {
namespace {

std::optional<int64_t> number_in(const std::filesystem::path& file) {
  std::ifstream in(file);
  int64_t number = 0;
  return in >> number ? std::optional(number) : std::nullopt;
}

// Returns the rate of the first line like "cpu MHz\t\t: 2294.608", in hertz.
std::optional<int64_t> clock_in_cpuinfo(const std::filesystem::path& file) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    const auto colon = line.find(':');
    if (!line.starts_with("cpu MHz") || colon == std::string::npos) continue;
    // from_chars reads a point in every locale, and passes over no blank.
    const auto begin = line.find_first_not_of(" \t", colon + 1);
    if (begin == std::string::npos) return std::nullopt;
    double megahertz = 0;
    const char* const end = line.data() + line.size();
    if (std::from_chars(line.data() + begin, end, megahertz).ec != std::errc()) return std::nullopt;
    return int64_t(megahertz * 1e6);
  }
  return std::nullopt;
}

}  // namespace

std::optional<int64_t> clock_rate(const std::filesystem::path& root) {
  // cpufreq reports kilohertz.
  const auto kilohertz = number_in(root / "sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq");
  return kilohertz ? *kilohertz * 1000 : clock_in_cpuinfo(root / "proc/cpuinfo");
}

std::optional<int64_t> temperature(const std::filesystem::path& root) {
  std::optional<int64_t> first;
  for (int i = 0;; ++i) {
    const auto zone = root / ("sys/class/thermal/thermal_zone" + std::to_string(i));
    std::error_code none;
    // The first number that is missing ends the list; zones behind a gap are not seen.
    if (!std::filesystem::exists(zone, none)) return first;
    const auto degrees = number_in(zone / "temp");
    if (!degrees) continue;
    std::string type;
    std::ifstream(zone / "type") >> type;
    // x86_pkg_temp is the sensor of Intel's processors; on many other machines the names begin with
    // "cpu".
    if (type == "x86_pkg_temp" || type.starts_with("cpu")) return degrees;
    if (!first) first = degrees;
  }
}

}  // namespace outback::host
