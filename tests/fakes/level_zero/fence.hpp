// A fence: the host's sign that a queue is through with some lists.
#pragma once

#include <memory>

#include "tests/fakes/level_zero/command_queue.hpp"
#include "tests/fakes/level_zero/signal.hpp"

namespace outback::software_ze {

struct fence {
  static constexpr uint8_t handle_kind = 6;
  static constexpr const char* noun = "fence";

  std::shared_ptr<command_queue> of;
  signal_pointer state = std::make_shared<signal_state>();
  std::atomic<bool> in_flight{false};  // submitted, and not seen signalled
};

}  // namespace outback::software_ze
