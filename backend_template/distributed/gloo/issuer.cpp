#include "backend_template/distributed/gloo/issuer.h"

#include <pthread.h>
#include <unistd.h>

#include <utility>

#include "backend_template/core/runtime/interpreter_lock.h"
#include "backend_template/distributed/gloo/idle_threads.h"

namespace outback::distributed {

issuer::~issuer() {
  stop();
}

bool issuer::is_idle() const {
  const std::lock_guard lock(mutex_);
  return queue_.empty() && !begins_;
}

void issuer::wait_until_idle() const {
  const core::without_interpreter_lock while_it_waits;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return queue_.empty() && !begins_; });
}

void issuer::enqueue(std::function<void()> begin) {
  {
    const std::lock_guard lock(mutex_);
    if (!stopped_) {
      if (!thread_.joinable()) {
        thread_ = std::thread([this] { run(); });
        process_ = getpid();
      }
      queue_.push_back(std::move(begin));
      changed_.notify_all();
      return;
    }
  }
  begin();
}

void issuer::run() {
  pthread_setname_np(pthread_self(), kIssuerThread);
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stopped_ || !queue_.empty(); });
    if (queue_.empty()) return;
    std::function<void()> begin = std::move(queue_.front());
    queue_.pop_front();
    begins_ = true;
    lock.unlock();
    begin();
    // Without the lock, as what it holds may want Python's.
    begin = nullptr;
    lock.lock();
    begins_ = false;
    changed_.notify_all();
  }
}

bool issuer::leave(std::chrono::steady_clock::time_point deadline) noexcept {
  const core::without_interpreter_lock while_it_waits;
  std::unique_lock lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
  const bool is_done =
      changed_.wait_until(lock, deadline, [&] { return queue_.empty() && !begins_; });
  if (!is_done && thread_.joinable()) thread_.detach();
  return is_done;
}

void issuer::stop() noexcept {
  std::thread ending;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    ending = std::move(thread_);
    changed_.notify_all();
  }
  if (!ending.joinable()) return;
  if (process_ != getpid()) return ending.detach();
  const core::without_interpreter_lock while_it_waits;
  // What is queued may hold the last reference to the group, and so end it here.
  if (ending.get_id() == std::this_thread::get_id()) return ending.detach();
  ending.join();
}

}  // namespace outback::distributed
