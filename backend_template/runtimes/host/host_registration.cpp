// The host_registration slots: host memory of the user's that counts as pinned from then on.
#include <string>

#include "backend_template/runtimes/host/host_runtime.hpp"

namespace outback::host {

void host_runtime::host_register(void* ptr, std::size_t size) {
  // The two tables have a lock each. Memory that mem_alloc returns between the two calls cannot
  // overlap the range, since the user has that memory already.
  if (const auto met = allocations_.find_overlapping(ptr, size)) {
    refuse_range(ptr, size, met->base, met->size,
                 met->device == OUTBACK_HOST ? "which are pinned already"
                                             : "memory of device " + std::to_string(met->device));
  }
  registered_.add_registered(ptr, size);
}

void host_runtime::host_unregister(void* ptr) {
  registered_.take_registered(ptr);
}

}  // namespace outback::host
