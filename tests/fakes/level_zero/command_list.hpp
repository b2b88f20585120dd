// Command lists: those that are recorded, closed and executed, and those that do at once what is
// appended.
#pragma once

#include <level_zero/ze_api.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "tests/fakes/level_zero/context.hpp"
#include "tests/fakes/level_zero/work_queue.hpp"

namespace outback::software_ze {

/// Appends are for one thread at a time, as the specification has it: two at once are a violation.
class command_list {
 public:
  static constexpr uint8_t handle_kind = 5;
  static constexpr const char* noun = "command list";

  command_list(std::shared_ptr<context> of, std::shared_ptr<device> on, uint32_t group,
               bool in_order, bool synchronous, bool immediate);

  const std::shared_ptr<context> of;
  const std::shared_ptr<device> on;
  const uint32_t group;
  const bool in_order;
  const bool immediate;
  const membership member{*of};

  /// Throws refusal. A synchronous list returns when it is done.
  void append(command what);
  void close();
  /// Empties it, so that it can be recorded anew.
  void reset();

  /// Of an immediate list.
  ze_result_t wait(uint64_t timeout);
  /// Executes it on `queue`.
  void submit_to(work_queue& queue);

  /// The device works on it.
  bool busy() const;

 private:
  const bool synchronous_;
  std::unique_ptr<work_queue> work_;  // of an immediate list
  std::atomic<bool> appending_{false};
  std::mutex mutex_;
  bool closed_ = false;
  std::vector<command> recorded_;
  std::shared_ptr<std::atomic<int64_t>> executing_ = std::make_shared<std::atomic<int64_t>>(0);
};

}  // namespace outback::software_ze
