#include "tests/fakes/cudart/settings.hpp"

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace fake_cuda {
namespace {

[[noreturn]] void malformed(const char* name, const char* value, const char* expected) {
  std::fprintf(stderr, "fake cuda: %s=%s: expected %s\n", name, value, expected);
  std::_Exit(2);
}

// A number, and perhaps K, M or G behind it.
bool parse(const char* text, bool units, unsigned long long& number) {
  char* end = nullptr;
  number = std::strtoull(text, &end, 0);
  if (end == text || *text == '-') return false;
  if (units && *end != '\0') {
    const std::string all = "KMG";
    const auto unit = all.find(*end++);
    if (unit == std::string::npos) return false;
    number <<= 10 * (unit + 1);
  }
  return *end == '\0';
}

template <class T>
void read_number(const char* name, T& to, bool units = false) {
  const char* const value = std::getenv(name);
  if (value == nullptr || *value == '\0') return;
  unsigned long long number = 0;
  if (!parse(value, units, number)) {
    malformed(name, value, units ? "a size, like 1048576 or 256M" : "a number");
  }
  to = T(number);
}

void read_mig(std::vector<std::pair<int, int>>& to) {
  const char* const value = std::getenv("FAKE_CUDA_MIG");
  if (value == nullptr) return;
  for (const std::string& each : split(value)) {
    int device = 0, instances = 0;
    if (std::sscanf(each.c_str(), "%d:%d", &device, &instances) != 2 || instances < 1) {
      malformed("FAKE_CUDA_MIG", value, "device:instances, like 0:2");
    }
    to.emplace_back(device, instances);
  }
}

std::optional<std::string> text(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

}  // namespace

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

settings settings::from_environment() {
  settings made;
  read_number("FAKE_CUDA_DEVICES", made.devices);
  read_number("FAKE_CUDA_MEMORY", made.memory, true);
  made.names = split(text("FAKE_CUDA_NAMES").value_or("Fake CUDA device"));
  if (const auto capability = text("FAKE_CUDA_CAPABILITY")) {
    if (std::sscanf(capability->c_str(), "%d.%d", &made.capability_major, &made.capability_minor) !=
        2) {
      malformed("FAKE_CUDA_CAPABILITY", capability->c_str(), "major.minor, like 9.0");
    }
  }
  read_mig(made.mig);
  made.visible = text("CUDA_VISIBLE_DEVICES");
  read_number("FAKE_CUDA_PEERS", made.peers);
  read_number("FAKE_CUDA_INIT_ERROR", made.init_error);
  read_number("FAKE_CUDA_DRIVER_VERSION", made.driver_version);
  if (text("FAKE_CUDA_ADVERSARIAL").value_or("") != "") {
    read_number("FAKE_CUDA_ADVERSARIAL", made.adversary.emplace());
  }
  read_number("FAKE_CUDA_SERIAL_HOST_FUNCTIONS", made.serial_host_functions);
  made.faults = text("FAKE_CUDART_FAULTS").value_or("");
  made.record = text("FAKE_CUDART_RECORD").value_or("");
  read_number("FAKE_CUDART_STRICT", made.strict);
  const std::string leaks = text("FAKE_CUDART_LEAKS").value_or("0");
  if (leaks != "0" && !leaks.empty()) made.leaks = leaks;
  return made;
}

}  // namespace fake_cuda
