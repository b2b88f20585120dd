#include "backend_template/runtimes/host/stream.hpp"

#include <system_error>
#include <thread>
#include <utility>

#include "backend_template/runtimes/host/fork_count.hpp"
#include "outback/runtime_error.hpp"

namespace outback::host {

// In a forked child the mutex may be held for ever by a thread that is not there, so each function
// asks first.
#define OUTBACK_CHECK_NOT_FORKED() \
  if (has_thread_.load(std::memory_order_acquire)) check_not_forked(forks_)

bool stream::begin_inline() {
  OUTBACK_CHECK_NOT_FORKED();
  const std::lock_guard lock(mutex_);
  if (pending_.load(std::memory_order_relaxed) != 0) return false;
  inline_ = true;
  ++enqueued_;
  pending_.store(1, std::memory_order_relaxed);
  return true;
}

void stream::end_inline() noexcept {
  const std::lock_guard lock(mutex_);
  inline_ = false;
  ++done_;
  pending_.fetch_sub(1, std::memory_order_release);
  has_done_.notify_all();
  has_work_.notify_one();
}

uint64_t stream::enqueue(std::function<void()> work) {
  OUTBACK_CHECK_NOT_FORKED();
  const std::lock_guard lock(mutex_);
  if (!has_thread_.load(std::memory_order_relaxed)) start_thread();
  queue_.push_back(std::move(work));
  pending_.fetch_add(1, std::memory_order_relaxed);
  has_work_.notify_one();
  return ++enqueued_;
}

void stream::start_thread() {
  forks_ = fork_count();
  try {
    std::thread([self = shared_from_this()] { self->work_until_closed(); }).detach();
  } catch (const std::system_error& error) {
    throw runtime_error(OUTBACK_INTERNAL,
                        std::string("cannot start the thread of a stream: ") + error.what());
  }
  has_thread_.store(true, std::memory_order_release);
}

void stream::wait(uint64_t ticket) {
  OUTBACK_CHECK_NOT_FORKED();
  std::unique_lock lock(mutex_);
  has_done_.wait(lock, [&] { return done_ >= ticket; });
}

void stream::sync() {
  if (idle()) return;
  OUTBACK_CHECK_NOT_FORKED();
  std::unique_lock lock(mutex_);
  has_done_.wait(lock, [this, last = enqueued_] { return done_ >= last; });
}

void stream::close() {
  if (has_thread_.load(std::memory_order_acquire) && fork_count() != forks_)
    return;  // no thread to tell
  const std::lock_guard lock(mutex_);
  closed_ = true;
  has_work_.notify_one();
}

void stream::work_until_closed() noexcept {
  const busy_clock::thread measured(*busy_);
  std::unique_lock lock(mutex_);
  for (;;) {
    has_work_.wait(lock, [this] { return !inline_ && (closed_ || !queue_.empty()); });
    if (queue_.empty()) return;
    {
      const std::function<void()> work = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      work();
    }  // what the work owned goes before the lock comes back
    lock.lock();
    ++done_;
    pending_.fetch_sub(1, std::memory_order_release);
    has_done_.notify_all();
  }
}

#undef OUTBACK_CHECK_NOT_FORKED

}  // namespace outback::host
