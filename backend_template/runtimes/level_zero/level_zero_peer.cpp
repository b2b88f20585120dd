// The peer slots of the Level Zero runtime: access of one device to the memory of another.
//
// Copies need no preparation. For kernels, memory has to be made resident on the device that
// accesses it, one allocation at a time.
#include "backend_template/runtimes/level_zero/level_zero_runtime.hpp"
#include "backend_template/runtimes/level_zero/result.hpp"

namespace outback::level_zero {
namespace {

void make_resident_on(device& d, device& owner, void* ptr, std::size_t size) {
  blame(d, owner, [&] {
    call(d.of().api().zeContextMakeMemoryResident, d.context(), d.handle(), ptr, size);
  });
}

ze_result_t evict(device& d, const allocation& of) {
  return d.of().api().zeContextEvictMemory(d.context(), d.handle(), of.base, of.size);
}

}  // namespace

bool level_zero_runtime::can_reach(device& from, device& to) {
  if (&from == &to || &from.of() != &to.of()) return false;
  ze_bool_t can = 0;
  blame(from, to,
        [&] { call(from.of().api().zeDeviceCanAccessPeer, from.handle(), to.handle(), &can); });
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
    d.context();  // notes that the device is in use
    const std::lock_guard lock(peers_mutex_);
    if (peers_.contains({index, peer})) return;
    // Before the allocations are looked at: an allocation that is made meanwhile either is in the
    // list already, or its mem_alloc sees this flag.
    any_peers_.store(true);
    const auto entry = peers_.insert({index, peer}).first;
    try {
      other.memory().for_each_or_none(
          [&](const allocation& each) { make_resident_on(d, other, each.base, each.size); },
          [&](const allocation& each) { evict(d, each); });
    } catch (...) {
      peers_.erase(entry);
      throw;
    }
  });
}

void level_zero_runtime::peer_disable(int32_t index, int32_t peer) {
  on(index, [&](device& d) {
    device& other = at(peer);
    const std::lock_guard lock(peers_mutex_);
    const auto entry = peers_.find({index, peer});
    if (entry == peers_.end()) return;
    // After a failure access is enabled still, so that the caller may try again.
    other.memory().for_each_or_none(
        [&](const allocation& each) {
          blame(d, other, [&] { check(evict(d, each), "zeContextEvictMemory"); });
        },
        [&](const allocation& each) {
          d.of().api().zeContextMakeMemoryResident(d.context(), d.handle(), each.base, each.size);
        });
    peers_.erase(entry);
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
      make_resident_on(d, owner, ptr, size);
    } catch (const noted_loss&) {
      // A peer that is gone does not keep the owner from having memory.
    }
  }
}

}  // namespace outback::level_zero
