// A command: what an append leaves in a list.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "tests/fakes/level_zero/event.hpp"
#include "tests/fakes/level_zero/memory.hpp"
#include "tests/fakes/level_zero/module.hpp"

namespace outback::software_ze {

struct command {
  /// What the commands of the same queue may do with it. Source: zeCommandListAppendBarrier in
  /// ze_api.h, by which a barrier with events to wait for does not wait for the commands before it.
  enum class order {
    free,    // it begins as soon as its events are signalled, whatever else is going on
    gate,    // those after it begin when it is done
    barrier  // and it begins when those before it are done
  };

  order keeps = order::free;
  std::function<void()> work;  // may be null
  std::vector<std::shared_ptr<event>> waits;
  std::shared_ptr<event> signals;                   // or null
  std::vector<std::shared_ptr<allocation>> memory;  // that `work` names
  std::shared_ptr<event> resets;                    // or null: that `work` resets
  std::shared_ptr<kernel> runs;                     // or null: that `work` launches
};

/// A command that begins when all before it are done.
command barrier_command(std::function<void()> work = nullptr);

/// A command on its way: what it needs is counted as in use until it is done.
struct submitted_command {
  /// Reports a violation, and throws, if an event was destroyed.
  explicit submitted_command(command from);
  ~submitted_command() { release(); }
  submitted_command(const submitted_command&) = delete;
  submitted_command& operator=(const submitted_command&) = delete;

  bool ready() const noexcept;
  /// Nothing that it names is in use by it any more, and it has no work left. Again is nothing.
  void release() noexcept;

  command what;
  std::vector<signal_pointer> waits;
  signal_pointer signal;  // or null: what the queue signals when all else is done
  bool in_use = false;
};

}  // namespace outback::software_ze
