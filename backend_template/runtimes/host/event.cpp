#include "backend_template/runtimes/host/event.hpp"

#include <chrono>
#include <utility>

#include "backend_template/runtimes/host/fork_count.hpp"
#include "outback/runtime_error.hpp"

namespace outback::host {

mark::mark() : forks_(fork_count()) {}

void mark::complete() noexcept {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  time_ = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
  done_.store(1, std::memory_order_release);
  done_.notify_all();
}

void mark::wait() const {
  if (completed()) return;
  check_not_forked(forks_);
  done_.wait(0, std::memory_order_acquire);
}

std::shared_ptr<mark> event::current() const {
  const std::lock_guard lock(mutex_);
  return current_;
}

void event::record(stream& where) {
  if (shared_) return shared_->record(where);
  auto fresh = std::make_shared<mark>();
  if (!where.try_run([&] { fresh->complete(); })) {
    where.enqueue([fresh] { fresh->complete(); });
  }
  const std::lock_guard lock(mutex_);
  current_ = std::move(fresh);
}

void event::wait(stream& waiting) const {
  if (shared_) return shared_->wait(waiting);
  const auto now = current();
  if (now == nullptr || now->completed()) return;
  waiting.enqueue([now] { now->wait(); });
}

bool event::query() const {
  if (shared_) return shared_->query();
  const auto now = current();
  return now == nullptr || now->completed();
}

void event::sync() const {
  if (shared_) return shared_->sync();
  if (const auto now = current()) now->wait();
}

std::optional<int64_t> event::elapsed(const event& from, const event& to) {
  for (const event* e : {&from, &to}) {
    if ((e->flags_ & OUTBACK_EVENT_TIMING) == 0) {
      throw invalid_argument(
          "elapsed time needs two events that were created with OUTBACK_EVENT_TIMING");
    }
  }
  const auto first = from.current(), last = to.current();
  if (first == nullptr || last == nullptr) {
    throw invalid_argument("elapsed time needs two events that were recorded");
  }
  if (!first->completed() || !last->completed()) return std::nullopt;
  return last->time() - first->time();
}

}  // namespace outback::host
