#include "backend_template/runtimes/host/host_options.hpp"

#include <unistd.h>

#include <algorithm>

#include "outback/detail/variables.hpp"

namespace outback::host {
namespace {

constexpr uint64_t mebibyte = uint64_t{1} << 20;

}  // namespace

uint64_t memory_size_of(const host_options& options) {
  if (options.memory_size != 0) return options.memory_size;
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page_size = sysconf(_SC_PAGESIZE);
  // sysconf returns -1 where the system does not know. 1 GiB is then a guess.
  const uint64_t physical =
      pages > 0 && page_size > 0 ? uint64_t(pages) * uint64_t(page_size) : 1024 * mebibyte;
  // Three quarters leave room for the process itself and for pinned memory, which no device is
  // charged for.
  const uint64_t share = physical / 4 * 3 / uint64_t(std::max(options.devices, 1));
  return std::max(share / mebibyte * mebibyte, mebibyte);
}

host_options options_from_environment() {
  using namespace outback::detail;
  host_options options;
  if (const auto devices = number_variable("OUTBACK_HOST_DEVICES", 0, max_devices)) {
    options.devices = int32_t(*devices);
  }
  options.memory_size = size_variable("OUTBACK_HOST_MEMORY").value_or(0);
  if (const auto addressable = flag_variable("OUTBACK_HOST_ADDRESSABLE")) {
    // One variable sets both: with 0 the device is like a card with memory of its own.
    options.host_addressable = options.addresses_host = *addressable;
  }
  if (flag_variable("OUTBACK_HOST_PROTECTED").value_or(false)) {
    options.protected_memory = true;
    options.host_addressable = options.addresses_host = false;
  }
  options.adversarial = number_variable("OUTBACK_HOST_ADVERSARIAL").value_or(0);
  options.fail_work = number_variable("OUTBACK_HOST_FAIL_WORK").value_or(0);
  return options;
}

}  // namespace outback::host
