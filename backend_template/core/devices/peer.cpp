#include "backend_template/core/devices/peer.h"

#include "backend_template/core/devices/device.h"
#include "backend_template/core/devices/lazy_start.h"
#include "backend_template/core/runtime/runtime.h"

namespace outback::core {

bool can_access_peer(c10::DeviceIndex device, c10::DeviceIndex peer) {
  check_index(device);
  check_index(peer);
  const outback_peer* group = runtime().peer;
  // Answered without the driver, so that asking does not start it.
  if (group == nullptr || device == peer) return false;
  ensure_started();
  return answer_of<int32_t>(
             [&](int32_t* can) { return group->can_access(runtime().self, device, peer, can); },
             "can", "peer.can_access", device) != 0;
}

}  // namespace outback::core
