#include "backend_template/runtimes/host/allocations.hpp"

#include <string>

#include "outback/runtime_error.hpp"

namespace outback::host {
namespace {

std::string owner_name(int32_t device) {
  return device == OUTBACK_HOST ? "pinned host memory"
                                : "memory of device " + std::to_string(device);
}

}  // namespace

allocation allocations::take(void* base, int32_t device) {
  const auto taken = take_if(base, [&](const allocation& there) {
    if (there.device != device) {
      throw invalid_argument("the pointer is " + owner_name(there.device) + ", not " +
                             owner_name(device));
    }
    // Only opened_memory knows how often the memory was opened, so mem_free must not end it.
    if (there.is_of_another_process()) {
      throw invalid_argument("the pointer is memory of another process: ipc.close_memory ends it");
    }
    return true;
  });
  if (taken) return *taken;
  throw invalid_argument(
      "the pointer is not the beginning of an allocation: freed already, or not of this runtime");
}

bool allocations::holds(int32_t device, const void* ptr, std::size_t size) const {
  const auto found = find_around(ptr, size);
  return found && found->device == device;
}

}  // namespace outback::host
