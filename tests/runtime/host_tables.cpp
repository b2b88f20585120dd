// Host runtimes for the suite: of a size that is soon exhausted, and with the options that a
// process has one of.
#include "backend_template/runtimes/host/host_runtime.hpp"

namespace {

const outback_runtime* leaked(const outback::host::host_options& options) {
  return outback::table_of(*new outback::host::host_runtime(options));
}

constexpr uint64_t memory_size = uint64_t{512} << 20;

}  // namespace

extern "C" const outback_runtime* outback_test_host_addressable(void) {
  static const outback_runtime* table = leaked({.devices = 3, .memory_size = memory_size});
  return table;
}

extern "C" const outback_runtime* outback_test_host_not_addressable(void) {
  static const outback_runtime* table = leaked({.devices = 3,
                                                .memory_size = memory_size,
                                                .host_addressable = false,
                                                .addresses_host = false});
  return table;
}

extern "C" const outback_runtime* outback_test_host_protected(void) {
  static const outback_runtime* table = leaked({.devices = 3,
                                                .memory_size = memory_size,
                                                .host_addressable = false,
                                                .addresses_host = false,
                                                .protected_memory = true});
  return table;
}

extern "C" const outback_runtime* outback_test_host_adversarial(void) {
  static const outback_runtime* table =
      leaked({.devices = 3, .memory_size = memory_size, .adversarial = 1});
  return table;
}
