// One device, as zeDeviceGet or zeDeviceGetSubDevices lists it.
#pragma once

#include <level_zero/ze_api.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/fakes/level_zero/options.hpp"
#include "tests/fakes/level_zero/refusal.hpp"

namespace outback::software_ze {

/// What launches and modules may have at most.
inline constexpr uint32_t max_group_size = 1024, max_local_memory = 65536;
inline constexpr uint32_t newest_spirv = 0x00010200;

/// Lives until the process ends. May be used from any thread.
class device {
 public:
  static constexpr uint8_t handle_kind = 2;
  static constexpr const char* noun = "device";

  /// `parent`: the card, of which this is a sub-device; null for a device of its own. A
  /// sub-device's memory is the card's.
  device(const driver_options& options, uint32_t card, std::optional<uint32_t> tile,
         uint64_t memory, device* parent);

  uint32_t card() const noexcept { return card_; }
  std::optional<uint32_t> tile() const noexcept { return tile_; }
  device* parent() const noexcept { return parent_; }
  /// Where memory is counted and what is lost as a whole.
  device& root() noexcept { return parent_ ? *parent_ : *this; }
  uint64_t memory() const noexcept { return memory_; }
  uint64_t max_alloc() const noexcept { return max_alloc_; }
  uint64_t memory_used() noexcept { return root().used_.load(std::memory_order_relaxed); }
  std::string name() const;
  ze_device_uuid_t uuid() const { return uuid_of(card_, tile_); }
  static ze_device_uuid_t uuid_of(uint32_t card, std::optional<uint32_t> tile);
  uint32_t bus() const noexcept { return bus_of(card_); }
  static uint32_t bus_of(uint32_t card) noexcept { return 0x3a + card; }

  ze_device_handle_t handle = nullptr;
  std::vector<std::shared_ptr<device>> sub_devices;

  /// False, and nothing taken, if the memory has not got that much.
  bool reserve(uint64_t size) noexcept;
  void release(uint64_t size) noexcept { root().used_.fetch_sub(size, std::memory_order_relaxed); }

  bool lost() noexcept { return root().lost_.load(std::memory_order_acquire); }
  void lose() noexcept { root().lost_.store(true, std::memory_order_release); }
  void require_present() { require(!lost(), ZE_RESULT_ERROR_DEVICE_LOST); }

  /// Time that its queues worked, for Sysman.
  std::atomic<uint64_t> busy_nanoseconds{0};

 private:
  const uint32_t card_;
  const std::optional<uint32_t> tile_;
  const uint64_t memory_;
  const uint64_t max_alloc_;
  device* const parent_;
  std::atomic<uint64_t> used_{0};
  std::atomic<bool> lost_{false};
};

/// Whether the first can use memory of the second: itself, a part of the same card, or a peer.
bool can_access(device& from, device& memory_of);

}  // namespace outback::software_ze
