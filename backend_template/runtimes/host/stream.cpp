#include "backend_template/runtimes/host/stream.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

#include "outback/runtime_error.hpp"

namespace outback::host {

namespace {

// Sleeps in half of the calls. In the other half it does not, so that every stream is sometimes
// ahead of all others.
void dawdle(randomness& adversary) {
  if (adversary.below(2) == 0) return;
  std::this_thread::sleep_for(std::chrono::microseconds(1 + adversary.below(200)));
}

}  // namespace

bool stream::begin_inline() {
  check_same_process();
  const std::lock_guard lock(mutex_);
  // Asked again under the lock: `idle` was asked without it.
  if (pending_.load(std::memory_order_relaxed) != 0 || options_.adversary) return false;
  running_ = true;
  ++enqueued_;
  pending_.store(1, std::memory_order_relaxed);
  return true;
}

void stream::end_inline() noexcept {
  const std::lock_guard lock(mutex_);
  running_ = false;
  ++done_;
  pending_.fetch_sub(1, std::memory_order_release);
  has_done_.notify_all();
  wake_thread();
}

// If there is something for it. To wake it for nothing costs as much as a small copy.
void stream::wake_thread() noexcept {
  if (closed_ || !queue_.empty()) has_work_.notify_one();
}

uint64_t stream::enqueue(std::function<void()> work, runner by, const work_note& note) {
  check_same_process();
  const std::lock_guard lock(mutex_);
  if (capture_ == nullptr) return enqueue_locked(std::move(work), by, note);
  capture_->record(lane_, std::move(work), note);
  // Captured work runs only in launches, so there is nothing to wait for: the ticket is that of the
  // work before the capture.
  return enqueued_;
}

uint64_t stream::enqueue_uncaptured(std::function<void()> work, const char* what,
                                    const std::function<void()>& accepted, runner by,
                                    const work_note& note) {
  check_same_process();
  const std::lock_guard lock(mutex_);
  refuse_locked(what);
  const uint64_t ticket = enqueue_locked(std::move(work), by, note);
  if (accepted) accepted();  // the thread takes the work when the lock is open
  return ticket;
}

uint64_t stream::enqueue_locked(std::function<void()> work, runner by, const work_note& note) {
  // First, because it may throw, and then nothing must be queued.
  if (!has_thread_.load(std::memory_order_relaxed)) start_thread();
  queue_.push_back({std::move(work), by, note, record_here(), is_to_fail(note)});
  pending_.fetch_add(1, std::memory_order_relaxed);
  has_work_.notify_one();
  return ++enqueued_;
}

void stream::start_thread() {
  forks_ = fork_count();
  try {
    // Detached, and an owner of the stream: see stream.hpp.
    std::thread([self = shared_from_this()] { self->work_until_closed(); }).detach();
  } catch (const std::system_error& error) {
    throw runtime_error(OUTBACK_INTERNAL,
                        std::string("cannot start the thread of a stream: ") + error.what());
  }
  has_thread_.store(true, std::memory_order_release);
}

void stream::wait(uint64_t ticket) {
  check_same_process();
  std::unique_lock lock(mutex_);
  wait_locked(lock, ticket);
}

void stream::sync() {
  sync_untold();
  tell_failure();
}

void stream::sync_untold() {
  if (idle()) return;
  check_same_process();
  std::unique_lock lock(mutex_);
  refuse_locked("waiting for the stream");
  wait_locked(lock, enqueued_);
}

void stream::wait_locked(std::unique_lock<std::mutex>& lock, uint64_t ticket) {
  // Waking the stream's thread, and being woken by it, takes as long as the copy of a mebibyte. So
  // as long as that thread has not begun, this one does the work.
  const auto may_run_first = [&] {
    return done_ < ticket && !running_ && !options_.adversary &&
           queue_.front().by == runner::a_waiter_too;
  };
  while (may_run_first()) run_first(lock);
  wake_thread();  // it may have woken meanwhile and gone to sleep again
  has_done_.wait(lock, [&] { return done_ >= ticket; });
}

void stream::run_first(std::unique_lock<std::mutex>& lock) {
  running_ = true;
  {
    const piece first = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    run_piece(first.record, first.note, first.fails, first.work);
  }  // destroys what the work owned before the lock is taken again
  lock.lock();
  running_ = false;
  ++done_;
  pending_.fetch_sub(1, std::memory_order_release);
  has_done_.notify_all();
}

void stream::close() {
  if (!same_process()) return;  // the thread is the parent's
  const std::lock_guard lock(mutex_);
  closed_ = true;
  has_work_.notify_one();
}

// Priorities are nice values, which on Linux each thread has for itself. They count from the
// process's own value: work of the default priority gives way a little to the thread that enqueues
// it, and the least urgent work gives way to everything else. The call may fail, and then the
// thread runs as it is: a thread that was started by a nicer one may not raise itself.
void stream::set_niceness() const noexcept {
  const int above = options_.priority < 0 ? 0 : options_.priority == 0 ? 1 : 10;
  setpriority(PRIO_PROCESS, id_t(gettid()), getpriority(PRIO_PROCESS, id_t(getpid())) + above);
}

void stream::work_until_closed() noexcept {
  set_niceness();
  const busy_clock::counted_thread measured(*busy_);
  std::unique_lock lock(mutex_);
  for (;;) {
    has_work_.wait(lock, [this] { return !running_ && (closed_ || !queue_.empty()); });
    if (queue_.empty()) return;
    if (options_.adversary) {
      lock.unlock();
      dawdle(*options_.adversary);
      lock.lock();
    }
    run_first(lock);
  }
}

}  // namespace outback::host
