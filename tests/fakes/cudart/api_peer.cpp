// Entry points: devices that access each other's memory.
#include "tests/fakes/cudart/enqueue.hpp"

using namespace fake_cuda;

cudaError_t cudaDeviceCanAccessPeer(int* can, int from, int to) {
  return enter(__func__, [&](call& c) {
    require(can != nullptr, "a null pointer");
    const device& asked = c.m.device_at(from);
    const device& peer = c.m.device_at(to);
    // Instances of a partitioned device have no peers.
    *can = c.m.given.peers && from != to && asked.described.instance < 0 &&
           peer.described.instance < 0;
  });
}

cudaError_t cudaDeviceEnablePeerAccess(int to, unsigned flags) {
  return enter(__func__, [&](call& c) {
    device& current = need_context(c.m);
    device& peer = c.m.device_at(to);
    require(flags == 0, "flags");
    if (&peer == &current) throw refusal(cudaErrorInvalidDevice, "the device itself");
    if (!c.m.given.peers) {
      throw refusal(cudaErrorPeerAccessUnsupported, "the device cannot access that one");
    }
    refuse_unsafe(c);
    hold_for_runtime(c.m, peer);  // its context has to be there
    if (!current.peers.insert(to).second) {
      throw refusal(cudaErrorPeerAccessAlreadyEnabled, "it is enabled already");
    }
  });
}

cudaError_t cudaDeviceDisablePeerAccess(int to) {
  return enter(__func__, entry::release, [&](call& c) {
    device& current = need_context(c.m);
    c.m.device_at(to);
    refuse_unsafe(c);
    if (current.peers.erase(to) == 0) {
      throw refusal(cudaErrorPeerAccessNotEnabled, "it is not enabled");
    }
  });
}
