#include "tests/fakes/level_zero/world.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <mutex>
#include <utility>

#include "tests/fakes/level_zero/entry_points.hpp"
#include "tests/fakes/level_zero/fork.hpp"
#include "tests/fakes/level_zero/leaks.hpp"
#include "tests/fakes/level_zero/violations.hpp"

namespace outback::software_ze {
namespace {

// Addresses only: pages are there when they are used.
constexpr std::size_t arena_size = std::size_t{64} << 30;

std::atomic<world*> the_one{nullptr};

std::shared_ptr<device> make_device(world& all, uint32_t card, std::optional<uint32_t> tile,
                                    uint64_t memory, device* parent) {
  auto made = std::make_shared<device>(all.options, card, tile, memory, parent);
  made->handle = all.devices.add(made);
  return made;
}

std::shared_ptr<device> make_card(world& all, uint32_t card) {
  auto whole = make_device(all, card, std::nullopt, all.options.memory, nullptr);
  for (uint32_t tile = 0; all.options.tiles > 1 && tile < all.options.tiles; ++tile) {
    whole->sub_devices.push_back(
        make_device(all, card, tile, all.options.memory / all.options.tiles, whole.get()));
  }
  return whole;
}

// What there is before ZE_AFFINITY_MASK: cards or, flat, tiles.
std::vector<std::shared_ptr<device>> make_devices(world& all) {
  std::vector<std::shared_ptr<device>> made;
  const driver_options& options = all.options;
  for (uint32_t card = 0; card < options.devices; ++card) {
    if (!options.flat || options.tiles == 1) {
      made.push_back(make_card(all, card));
      continue;
    }
    for (uint32_t tile = 0; tile < options.tiles; ++tile) {
      made.push_back(make_device(all, card, tile, options.memory / options.tiles, nullptr));
    }
  }
  return made;
}

// Sysman knows no mask, and lists cards with their tiles.
std::vector<zes_device_handle_t> make_cards(world& all,
                                            const std::vector<std::shared_ptr<device>>& made) {
  std::map<uint32_t, std::shared_ptr<sysman_card>> cards;
  for (const auto& each : made) {
    auto& card = cards[each->card()];
    if (!card) card = std::make_shared<sysman_card>(sysman_card{each->card(), {}});
    for (const auto& tile : each->sub_devices) card->parts.push_back({tile, true});
    if (each->sub_devices.empty()) card->parts.push_back({each, each->tile().has_value()});
  }
  std::vector<zes_device_handle_t> handles;
  for (const auto& [number, card] : cards) handles.push_back(all.cards.add(card));
  return handles;
}

std::vector<std::shared_ptr<device>> masked(const std::vector<std::shared_ptr<device>>& made,
                                            const std::optional<std::vector<affinity>>& mask) {
  if (!mask) return made;
  std::vector<std::shared_ptr<device>> left;
  // In the order of the devices, not of the mask: as Intel's driver does it.
  for (uint32_t i = 0; i < made.size(); ++i) {
    for (const affinity& place : *mask) {
      if (place.device != i) continue;
      if (!place.tile) {
        left.push_back(made[i]);
        break;
      }
      if (*place.tile < made[i]->sub_devices.size()) {
        left.push_back(made[i]->sub_devices[*place.tile]);
      }
    }
  }
  return left;
}

}  // namespace

world::world(const driver_options& given)
    : options(given), device_arena(arena_size, given.guard), host_arena(arena_size, false) {}

void* world::sensor_of(const measured& at, sensor::sort what) {
  const std::lock_guard lock(sensor_mutex_);
  void*& handle = sensor_handles_[{at.of.get(), at.is_tile, what}];
  if (!handle) handle = sensors.add(std::make_shared<sensor>(sensor{at, what}));
  return handle;
}

void make_world() {
  static auto& mutex = *new std::mutex;
  const std::lock_guard lock(mutex);
  if (the_one.load()) return;
  try {
    const driver_options options = options_from_environment();
    read_faults(options.faults);
    check_leak_kinds(options.leaks);
    auto made = std::make_unique<world>(options);
    if (options.execute == "opencl") {
      open_opencl();
    } else if (!options.execute.empty()) {
      made->host_kernels = open_host_kernels(options.execute);
    }
    made->driver_handle = made->drivers.add(std::make_shared<driver>());
    end_process_on_violation(options.strict);
    watch_forks();
    const auto devices = make_devices(*made);
    made->listed = masked(devices, options.mask);
    made->sysman_cards = make_cards(*made, devices);
    the_one.store(made.release(), std::memory_order_release);
  } catch (const std::exception& error) {
    const std::string line = fmt::format("outback_ze: {}\n", error.what());
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
    throw refusal{ZE_RESULT_ERROR_INVALID_ARGUMENT};
  }
}

world& the_world() {
  world* made = the_one.load(std::memory_order_acquire);
  require(made != nullptr, ZE_RESULT_ERROR_UNINITIALIZED);
  return *made;
}

world* world_if_made() noexcept {
  return the_one.load(std::memory_order_acquire);
}
const driver_options& the_options() noexcept {
  return world_if_made()->options;
}

}  // namespace outback::software_ze
