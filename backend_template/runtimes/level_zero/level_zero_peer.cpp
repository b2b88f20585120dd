// The peer slots of the Level Zero runtime: access of one device to the memory of another.
//
// Copies need no preparation. For kernels, memory has to be made resident on the device that
// accesses it, one allocation at a time.
#include "backend_template/runtimes/level_zero/level_zero_runtime.hpp"
#include "backend_template/runtimes/level_zero/result.hpp"

namespace outback::level_zero {

bool level_zero_runtime::can_reach(device& from, device& to) {
  if (&from == &to || &from.of() != &to.of()) return false;
  ze_bool_t can = 0;
  blame(from, to, [&] {
    check(from.of().api().zeDeviceCanAccessPeer(from.handle(), to.handle(), &can),
          "zeDeviceCanAccessPeer");
  });
  return can != 0;
}

bool level_zero_runtime::peer_can_access(int32_t index, int32_t peer) {
  return on(index, [&](device& d) { return can_reach(d, at(peer)); });
}

void level_zero_runtime::peer_enable(int32_t index, int32_t peer) {
  on(index, [&](device& d) {
    device& other = at(peer);
    if (!can_reach(d, other)) {
      throw unsupported("device " + std::to_string(index) + " cannot access memory of device " +
                        std::to_string(peer));
    }
    const ze_context_handle_t context = d.context();
    const std::lock_guard lock(peers_mutex_);
    if (peers_.contains({index, peer})) return;
    // Before the allocations are looked at: an allocation that is made meanwhile either is in the
    // list already, or its mem_alloc sees this flag.
    any_peers_.store(true);
    other.memory().for_each([&](const allocation& each) {
      check(d.of().api().zeContextMakeMemoryResident(context, d.handle(), each.base, each.size),
            "zeContextMakeMemoryResident");
    });
    peers_.insert({index, peer});
  });
}

void level_zero_runtime::peer_disable(int32_t index, int32_t peer) {
  on(index, [&](device& d) {
    device& other = at(peer);
    const std::lock_guard lock(peers_mutex_);
    if (peers_.erase({index, peer}) == 0) return;
    other.memory().for_each([&](const allocation& each) {
      check(d.of().api().zeContextEvictMemory(d.context(), d.handle(), each.base, each.size),
            "zeContextEvictMemory");
    });
  });
}

void level_zero_runtime::make_resident(device& owner, void* ptr, std::size_t size) {
  // Spares mem_alloc the lock, in programs without peers.
  if (!any_peers_.load()) return;
  const std::lock_guard lock(peers_mutex_);
  for (const auto& [index, whose] : peers_) {
    if (whose != owner.index()) continue;
    device& d = *there().devices()[std::size_t(index)];
    if (d.lost()) continue;
    try {
      blame(d, [&] {
        check(owner.of().api().zeContextMakeMemoryResident(owner.context(), d.handle(), ptr, size),
              "zeContextMakeMemoryResident");
      });
    } catch (const noted_loss&) {
      // A peer that is gone does not keep the owner from having memory.
    }
  }
}

}  // namespace outback::level_zero
