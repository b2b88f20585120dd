// A command queue, for lists that are executed.
#pragma once

#include <level_zero/ze_api.h>

#include <memory>

#include "tests/fakes/level_zero/context.hpp"
#include "tests/fakes/level_zero/work_queue.hpp"

namespace outback::software_ze {

struct command_queue {
  static constexpr uint8_t handle_kind = 4;
  static constexpr const char* noun = "command queue";

  command_queue(std::shared_ptr<context> of_, std::shared_ptr<device> on_,
                const ze_command_queue_desc_t& desc)
      : of(std::move(of_)),
        on(std::move(on_)),
        group(desc.ordinal),
        mode(desc.mode),
        work(on, false) {}

  const std::shared_ptr<context> of;
  const std::shared_ptr<device> on;
  const uint32_t group;
  const ze_command_queue_mode_t mode;
  const membership member{*of};
  work_queue work;
};

/// Throws refusal unless `desc` is of a queue that devices have.
void check_queue(const ze_command_queue_desc_t& desc);
/// The same of a group of queues alone.
void check_queue_group(uint32_t ordinal);

}  // namespace outback::software_ze
