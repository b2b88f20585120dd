#include "backend_template/core/devices/peer.h"

#include <c10/util/Exception.h>

#include <limits>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/devices/lazy_start.h"
#include "backend_template/core/runtime/runtime.h"

namespace outback::core {
namespace {

const outback_peer& group_for(c10::DeviceIndex device, c10::DeviceIndex peer) {
  ensure_started();
  check_index(device);
  check_index(peer);
  // The slots would return INVALID_ARGUMENT, which says less.
  TORCH_CHECK_VALUE(device != peer, backend_name(), ": device ", static_cast<int>(device),
                    " is no peer of itself: expected two devices");
  if (runtime().peer == nullptr) refuse_absent("peer", "access to the memory of other devices");
  return *runtime().peer;
}

}  // namespace

bool can_access_peer(c10::DeviceIndex device, c10::DeviceIndex peer) {
  check_index(device);
  check_index(peer);
  const outback_peer* group = runtime().peer;
  // Answered without the driver, so that asking does not start it.
  if (group == nullptr || device == peer) return false;
  ensure_started();
  constexpr int32_t unwritten = std::numeric_limits<int32_t>::min();
  int32_t can = unwritten;
  check(group->can_access(runtime().self, device, peer, &can), "peer.can_access", device);
  check_written(can, unwritten, "can", "peer.can_access", device);
  return can != 0;
}

void enable_peer_access(c10::DeviceIndex device, c10::DeviceIndex peer) {
  check(group_for(device, peer).enable(runtime().self, device, peer), "peer.enable", device);
}

void disable_peer_access(c10::DeviceIndex device, c10::DeviceIndex peer) {
  check(group_for(device, peer).disable(runtime().self, device, peer), "peer.disable", device);
}

}  // namespace outback::core
