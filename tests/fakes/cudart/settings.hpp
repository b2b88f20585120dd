// The environment variables that shape the fake machine. README.md lists them for users.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fake_cuda {

struct settings {
  int devices = 2;                              // FAKE_CUDA_DEVICES
  std::size_t memory = std::size_t{256} << 20;  // FAKE_CUDA_MEMORY, of each device
  std::vector<std::string> names;  // FAKE_CUDA_NAMES, the last one goes on for the rest
  int capability_major = 9, capability_minor = 0;  // FAKE_CUDA_CAPABILITY
  std::vector<std::pair<int, int>> mig;            // FAKE_CUDA_MIG: (device, instances)
  std::optional<std::string> visible;              // CUDA_VISIBLE_DEVICES
  bool peers = true;                   // FAKE_CUDA_PEERS=0: no device can access another
  int init_error = 0;                  // FAKE_CUDA_INIT_ERROR, a cudaError_t
  int driver_version = 13000;          // FAKE_CUDA_DRIVER_VERSION
  std::optional<uint64_t> adversary;   // FAKE_CUDA_ADVERSARIAL: a seed
  bool serial_host_functions = false;  // FAKE_CUDA_SERIAL_HOST_FUNCTIONS
  std::string faults;                  // FAKE_CUDART_FAULTS
  std::string record;                  // FAKE_CUDART_RECORD: a new file that the record goes to
  int strict = 0;                      // FAKE_CUDART_STRICT: 1 misuse, 2 refusals too
  std::optional<std::string> leaks;    // FAKE_CUDART_LEAKS: kinds, or 1 for all

  /// What the environment says now. A malformed value ends the process, with a line on stderr:
  /// a test that is not what it seems is worse than none.
  static settings from_environment();
};

/// The parts of `text` between commas; none of an empty text.
std::vector<std::string> split(const std::string& text, char separator = ',');

}  // namespace fake_cuda
