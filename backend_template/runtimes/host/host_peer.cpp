// The peer slots of the host runtime: access of one device to the memory of another.
#include "backend_template/runtimes/host/host_runtime.hpp"

namespace outback::host {

bool host_runtime::peer_can_access(int32_t index, int32_t peer) {
  at(index), at(peer);
  return index != peer && !options_.protected_memory;
}

// There is no state to keep: the access is always there, or never.
void host_runtime::peer_enable(int32_t index, int32_t peer) {
  at(index), at(peer);
  if (options_.protected_memory) {
    throw unsupported("no device can access another's memory where OUTBACK_HOST_PROTECTED is on");
  }
}

void host_runtime::peer_disable(int32_t index, int32_t peer) {
  at(index), at(peer);
}

}  // namespace outback::host
