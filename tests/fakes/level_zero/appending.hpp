// What all zeCommandListAppend* have in common: a list, an event to signal and events to wait for.
#pragma once

#include <level_zero/ze_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "tests/fakes/level_zero/command.hpp"
#include "tests/fakes/level_zero/command_list.hpp"

namespace outback::software_ze {

/// One append. Whatever is wrong throws refusal, and then nothing was appended.
class appending {
 public:
  appending(ze_command_list_handle_t list, ze_event_handle_t signals, uint32_t wait_count,
            ze_event_handle_t* waits);

  command_list& list() const noexcept { return *list_; }
  void keep(command::order order) noexcept { what_.keeps = order; }

  /// Where the command finds `size` bytes at `pointer`, which it holds until it is done. `of`: the
  /// context that the memory must be of, if not the list's.
  std::byte* use(const void* pointer, std::size_t size, const context* of = nullptr);
  /// The event that the command resets.
  void reset(ze_event_handle_t event);

  /// The kernel that the command launches.
  void run(std::shared_ptr<kernel> launched) noexcept { what_.runs = std::move(launched); }

  /// Appends it.
  ze_result_t finish(std::function<void()> work = nullptr);

 private:
  std::shared_ptr<event> find_event(ze_event_handle_t handle, bool signalled) const;

  const std::shared_ptr<command_list> list_;
  command what_;
};

}  // namespace outback::software_ze
