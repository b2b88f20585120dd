#include "tests/fakes/level_zero/work_queue.hpp"

#include <chrono>
#include <utility>
#include <vector>

#include "tests/fakes/level_zero/clock.hpp"
#include "tests/fakes/level_zero/world.hpp"

namespace outback::software_ze {
namespace {

std::atomic<bool> paused{false};
std::atomic<uint64_t> queues_made{0};

constexpr auto poll_interval = std::chrono::microseconds(50);

}  // namespace

void pause_queues(bool pause) {
  paused.store(pause);
}

work_queue::work_queue(std::shared_ptr<device> on, bool in_order)
    : on_(std::move(on)), any_order_(!in_order && the_options().adversarial) {
  std::seed_seq seed{the_options().adversarial.value_or(0), queues_made.fetch_add(1)};
  random_.seed(seed);
}

work_queue::~work_queue() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void work_queue::submit(std::unique_ptr<submitted_command> what) {
  in_use_.fetch_add(1);
  {
    const std::lock_guard lock(mutex_);
    pending_.push_back(std::move(what));
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  }
  changed_.notify_all();
}

ze_result_t work_queue::wait(const deadline& until) {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (on_->lost()) return ZE_RESULT_ERROR_DEVICE_LOST;
    if (pending_.empty() && !working_) return ZE_RESULT_SUCCESS;
    if (until.passed()) return ZE_RESULT_NOT_READY;
    changed_.wait_until(lock, until.piece());
  }
}

std::optional<std::size_t> work_queue::choose() {
  if (pending_.empty() || paused.load() || on_->lost()) return std::nullopt;
  if (!any_order_) {
    return pending_.front()->ready() ? std::optional<std::size_t>(0) : std::nullopt;
  }
  std::vector<std::size_t> may_begin;
  for (std::size_t i = 0; i < pending_.size(); ++i) {
    const auto keeps = pending_[i]->what.keeps;
    const bool waits_for_those_before = keeps == command::order::barrier && i > 0;
    if (!waits_for_those_before && pending_[i]->ready()) may_begin.push_back(i);
    if (keeps != command::order::free) break;
  }
  if (may_begin.empty()) return std::nullopt;
  return may_begin[random_() % may_begin.size()];
}

void work_queue::wait_for_events(std::unique_lock<std::mutex>& lock) {
  if (pending_.empty()) {
    changed_.wait(lock);
    return;
  }
  signal_pointer blocking;
  if (!any_order_ && !paused.load()) {
    for (const auto& one : pending_.front()->waits) {
      if (!one->is_signalled()) blocking = one;
    }
  }
  lock.unlock();
  // Of many events, any may be the next: a short look around is simpler than to subscribe to all.
  if (blocking) {
    blocking->wait_until(deadline(UINT64_MAX).piece());
  } else {
    std::this_thread::sleep_for(poll_interval);
  }
  lock.lock();
}

void work_queue::delay() {
  if (!the_options().adversarial || random_() % 2 == 0) return;
  std::this_thread::sleep_for(std::chrono::microseconds(random_() % 200));
}

void work_queue::perform(submitted_command& what) {
  delay();
  const uint64_t began = clock_ticks();
  const auto start = std::chrono::steady_clock::now();
  if (what.what.work) what.what.work();
  const auto busy = std::chrono::steady_clock::now() - start;
  on_->root().busy_nanoseconds.fetch_add(static_cast<uint64_t>(busy.count()),
                                         std::memory_order_relaxed);
  if (what.signal) {
    what.signal->began.store(began, std::memory_order_relaxed);
    what.signal->ended.store(clock_ticks(), std::memory_order_relaxed);
  }
  // Before the signal: whoever sees that may at once free memory, and reset or destroy events and
  // lists.
  const signal_pointer signal = std::move(what.signal);
  what.release();
  in_use_.fetch_sub(1);
  if (signal) signal->signal();
}

void work_queue::drop_pending() {
  for (const auto& one : pending_) {
    in_use_.fetch_sub(1);  // before: who waits for the memory may destroy the list next
    one->release();
  }
  pending_.clear();
}

void work_queue::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (on_->lost()) drop_pending();
    const auto chosen = choose();
    if (!chosen) {
      wait_for_events(lock);
      continue;
    }
    const auto what = std::move(pending_[*chosen]);
    pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(*chosen));
    working_ = true;
    lock.unlock();
    perform(*what);
    lock.lock();
    working_ = false;
    if (pending_.empty()) changed_.notify_all();
  }
}

}  // namespace outback::software_ze
