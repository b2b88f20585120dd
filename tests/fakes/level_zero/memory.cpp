#include "tests/fakes/level_zero/memory.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <iterator>
#include <utility>

#include "tests/fakes/level_zero/violations.hpp"
#include "tests/fakes/level_zero/world.hpp"

namespace outback::software_ze {
namespace {

std::atomic<uint64_t> last_id{0};

}  // namespace

allocation::allocation(arena& from_, std::byte* base_, std::size_t size_, std::size_t room_,
                       ze_memory_type_t type_, std::shared_ptr<context> of_,
                       std::shared_ptr<device> on_, bool imported_)
    : from(from_),
      base(base_),
      size(size_),
      room(room_),
      type(type_),
      of(std::move(of_)),
      on(std::move(on_)),
      imported(imported_),
      id(last_id.fetch_add(1) + 1) {}

allocation::~allocation() {
  if (ipc_file >= 0) ::close(ipc_file);
  if (imported) {
    from.give_foreign(base, room);
  } else {
    from.give(base, room);
    if (type == ZE_MEMORY_TYPE_DEVICE) {
      on->release(room);
    } else {
      the_world().host_memory_used.fetch_sub(room);
    }
  }
}

void allocations::add(std::shared_ptr<allocation> given) {
  const std::lock_guard lock(mutex_);
  by_base_.emplace(given->base, std::move(given));
}

std::shared_ptr<allocation> allocations::find(const void* pointer) const {
  const auto* byte = static_cast<const std::byte*>(pointer);
  const std::shared_lock lock(mutex_);
  auto found = by_base_.upper_bound(byte);
  if (found == by_base_.begin()) return nullptr;
  found = std::prev(found);
  return byte < found->first + found->second->size ? found->second : nullptr;
}

std::shared_ptr<allocation> allocations::take(const void* base, const context& of, bool imported) {
  std::unique_lock lock(mutex_);
  const auto found = by_base_.find(static_cast<const std::byte*>(base));
  if (found == by_base_.end()) {
    lock.unlock();
    const auto inside = find(base);
    refuse_violation(inside ? fmt::format("{} is inside an allocation that begins at {}", base,
                                          static_cast<const void*>(inside->base))
                            : fmt::format("no allocation begins at {}: freed twice?", base));
  }
  const auto taken = found->second;
  if (taken->of.get() != &of || taken->imported != imported) {
    lock.unlock();
    refuse_violation(taken->of.get() != &of ? fmt::format("{} is memory of another context", base)
                     : imported ? fmt::format("{} was not opened from another process", base)
                                : fmt::format("{} is another process's: close it instead", base));
  }
  by_base_.erase(found);
  taken->freed.store(true);
  return taken;
}

span allocations::resolve(const void* pointer, std::size_t size, device& user,
                          const context& of) const {
  require_pointer(pointer);
  world& all = the_world();
  if (!all.device_arena.contains(pointer) && !all.host_arena.contains(pointer)) {
    return {const_cast<std::byte*>(static_cast<const std::byte*>(pointer)), nullptr};
  }
  const auto held = find(pointer);
  if (!held) {
    refuse_violation(
        fmt::format("{} is no memory any more: it was freed, or never allocated", pointer));
  }
  const std::size_t before =
      static_cast<std::size_t>(static_cast<const std::byte*>(pointer) - held->base);
  if (size > held->size - before) {
    refuse_violation(fmt::format("{} bytes at {}: the allocation ends after {}", size, pointer,
                                 held->size - before));
  }
  if (held->of.get() != &of) {
    refuse_violation(fmt::format("{} is memory of another context", pointer));
  }
  if (held->on && !can_access(user, *held->on)) {
    refuse_violation(fmt::format("{} is memory of {}, which {} cannot access", pointer,
                                 held->on->name(), user.name()));
  }
  return {held->from.bytes(pointer), held};
}

std::vector<std::shared_ptr<allocation>> allocations::all() const {
  const std::shared_lock lock(mutex_);
  std::vector<std::shared_ptr<allocation>> given;
  for (const auto& [base, one] : by_base_) given.push_back(one);
  return given;
}

}  // namespace outback::software_ze
