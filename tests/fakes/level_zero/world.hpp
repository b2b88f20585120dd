// All there is in the driver: made by the first zeInit, and leaked, since queues may work while the
// process exits.
#pragma once

#include <level_zero/ze_api.h>
#include <level_zero/zes_api.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

#include "tests/fakes/level_zero/arena.hpp"
#include "tests/fakes/level_zero/command_list.hpp"
#include "tests/fakes/level_zero/command_queue.hpp"
#include "tests/fakes/level_zero/context.hpp"
#include "tests/fakes/level_zero/device.hpp"
#include "tests/fakes/level_zero/event.hpp"
#include "tests/fakes/level_zero/executable.hpp"
#include "tests/fakes/level_zero/fence.hpp"
#include "tests/fakes/level_zero/handles.hpp"
#include "tests/fakes/level_zero/memory.hpp"
#include "tests/fakes/level_zero/module.hpp"
#include "tests/fakes/level_zero/options.hpp"
#include "tests/fakes/level_zero/sysman.hpp"

namespace outback::software_ze {

struct driver {
  static constexpr uint8_t handle_kind = 1;
  static constexpr const char* noun = "driver";
};

struct world {
  explicit world(const driver_options& given);

  const driver_options options;
  arena device_arena;
  arena host_arena;  // of host and shared memory
  allocations memory;
  std::atomic<uint64_t> host_memory_used{0};  // and shared memory, bytes

  handle_table<driver, ze_driver_handle_t> drivers;
  handle_table<device, ze_device_handle_t> devices;
  handle_table<context, ze_context_handle_t> contexts;
  handle_table<command_queue, ze_command_queue_handle_t> queues;
  handle_table<command_list, ze_command_list_handle_t> lists;
  handle_table<fence, ze_fence_handle_t> fences;
  handle_table<event_pool, ze_event_pool_handle_t> pools;
  handle_table<event, ze_event_handle_t> events;
  handle_table<module, ze_module_handle_t> modules;
  handle_table<build_log, ze_module_build_log_handle_t> build_logs;
  handle_table<kernel, ze_kernel_handle_t> kernels;
  handle_table<sensor, void*> sensors;
  handle_table<sysman_card, zes_device_handle_t> cards;

  std::shared_ptr<executable> host_kernels;  // that OUTBACK_ZE_EXECUTE names, or null

  ze_driver_handle_t driver_handle = nullptr;
  std::vector<std::shared_ptr<device>> listed;    // what zeDeviceGet answers
  std::vector<zes_device_handle_t> sysman_cards;  // what zesDeviceGet answers, in the cards' order
  std::atomic<bool> sysman_apart{false};          // zesInit was called

  /// The handle of the sensor of this sort: the same each time. May be used from any thread.
  void* sensor_of(const measured& at, sensor::sort what);

 private:
  std::mutex sensor_mutex_;
  std::map<std::tuple<device*, bool, sensor::sort>, void*> sensor_handles_;
};

/// Makes the world, once. Throws refusal, after a line on stderr, if the environment is wrong or
/// the system refuses.
void make_world();

/// Throws refusal{ZE_RESULT_ERROR_UNINITIALIZED} before `make_world`.
world& the_world();
/// Null before `make_world`.
world* world_if_made() noexcept;
/// Only after `make_world`.
const driver_options& the_options() noexcept;

}  // namespace outback::software_ze
