// The host_registration slots: host memory of the user's that counts as pinned from then on.
#include <cstdint>
#include <limits>
#include <sstream>
#include <string>

#include "backend_template/runtimes/host/host_runtime.hpp"

namespace outback::host {
namespace {

std::string range_name(const void* begin, std::size_t size) {
  std::ostringstream text;
  text << size << " bytes at " << begin;
  return text.str();
}

}  // namespace

void host_runtime::host_register(void* ptr, std::size_t size) {
  check_accepted();
  // Otherwise the end of the range would wrap around, and it would seem to overlap nothing.
  if (size > std::numeric_limits<uintptr_t>::max() - reinterpret_cast<uintptr_t>(ptr)) {
    throw invalid_argument("no memory has " + range_name(ptr, size));
  }
  // The two tables have a lock each. Memory that mem_alloc returns between the two calls cannot
  // overlap the range, since the user has that memory already.
  auto there = allocations_.find_overlapping(ptr, size);
  if (!there) {
    there = registered_.add_apart(
        {.base = ptr, .size = size, .device = OUTBACK_HOST, .bytes = ptr, .block = nullptr});
  }
  if (!there) return;
  throw invalid_argument(
      "the " + range_name(ptr, size) + " meet " + range_name(there->base, there->size) + ", " +
      (there->device == OUTBACK_HOST ? "which are pinned already"
                                     : "memory of device " + std::to_string(there->device)));
}

void host_runtime::host_unregister(void* ptr) {
  check_accepted();
  if (registered_.take_blockless(ptr)) return;
  const auto around = registered_.find(ptr);
  throw invalid_argument(
      "the pointer is not the beginning of a range that was registered" +
      (around ? ", but inside of " + range_name(around->base, around->size) : std::string()));
}

}  // namespace outback::host
