#include "tests/fakes/level_zero/device.hpp"

#include <fmt/format.h>

#include <cstring>

#include "tests/fakes/level_zero/world.hpp"

namespace outback::software_ze {

device::device(const driver_options& options, uint32_t card, std::optional<uint32_t> tile,
               uint64_t memory, device* parent)
    : card_(card),
      tile_(tile),
      memory_(memory),
      max_alloc_(options.max_alloc ? options.max_alloc : memory / 2),
      parent_(parent) {}

std::string device::name() const {
  return tile_ ? fmt::format("Outback Software GPU {}.{}", card_, *tile_)
               : fmt::format("Outback Software GPU {}", card_);
}

ze_device_uuid_t device::uuid_of(uint32_t card, std::optional<uint32_t> tile) {
  ze_device_uuid_t uuid{};
  std::memcpy(uuid.id, "outback-ze", 10);
  uuid.id[13] = tile ? static_cast<uint8_t>(*tile + 1) : 0;
  uuid.id[15] = static_cast<uint8_t>(card);
  return uuid;
}

bool device::reserve(uint64_t size) noexcept {
  std::atomic<uint64_t>& used = root().used_;
  uint64_t now = used.load(std::memory_order_relaxed);
  do {
    if (size > root().memory_ || now > root().memory_ - size) return false;
  } while (!used.compare_exchange_weak(now, now + size, std::memory_order_relaxed));
  return true;
}

bool can_access(device& from, device& memory_of) {
  return from.card() == memory_of.card() || the_options().peer;
}

}  // namespace outback::software_ze
