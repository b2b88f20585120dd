// The thread behind a command queue or an immediate command list, and the order in which it works.
#pragma once

#include <level_zero/ze_api.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <thread>

#include "tests/fakes/level_zero/command.hpp"
#include "tests/fakes/level_zero/deadline.hpp"
#include "tests/fakes/level_zero/device.hpp"

namespace outback::software_ze {

/// One command at a time: in the order of their submission or, if that is not asked for and
/// OUTBACK_ZE_ADVERSARIAL is set, in any that barriers and events allow, after random delays. May
/// be used from any thread.
class work_queue {
 public:
  work_queue(std::shared_ptr<device> on, bool in_order);
  /// What has not begun never runs.
  ~work_queue();
  work_queue(const work_queue&) = delete;
  work_queue& operator=(const work_queue&) = delete;

  void submit(std::unique_ptr<submitted_command> what);

  /// Waits until all that was submitted so far, and by others meanwhile, is done.
  /// ZE_RESULT_NOT_READY at the deadline, ZE_RESULT_ERROR_DEVICE_LOST if the device is.
  ze_result_t wait(const deadline& until);

  /// Commands whose memory and events are in use. 0 may come a moment before `wait` returns.
  int64_t in_use() const noexcept { return in_use_.load(); }

 private:
  void run();
  std::optional<std::size_t> choose();  // mutex_ is held
  void wait_for_events(std::unique_lock<std::mutex>& lock);
  void drop_pending();  // mutex_ is held
  void delay();
  void perform(submitted_command& what);

  const std::shared_ptr<device> on_;
  const bool any_order_;
  std::mt19937_64 random_;  // the thread's, and `choose`'s

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::unique_ptr<submitted_command>> pending_;
  bool working_ = false;
  bool stopping_ = false;
  std::atomic<int64_t> in_use_{0};
  std::thread thread_;  // from the first submission on
};

/// While paused, no command begins.
void pause_queues(bool pause);

}  // namespace outback::software_ze
