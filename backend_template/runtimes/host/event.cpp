#include "backend_template/runtimes/host/event.hpp"

#include <chrono>
#include <string>
#include <utility>

#include "backend_template/runtimes/fork_count.hpp"
#include "outback/runtime_error.hpp"

namespace outback::host {

mark::mark() : forks_(fork_count()) {}

mark::mark(std::unique_ptr<const capture::place> place)
    : forks_(fork_count()), place_(std::move(place)) {}

void mark::complete() noexcept {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  time_ = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
  failed_before_ = failure_ != nullptr && failure_->is_kept();
  // Releases time_, and with it all that the stream's work wrote.
  done_.store(1, std::memory_order_release);
  done_.notify_all();
}

void mark::check_reachable() const {
  if (!completed()) check_not_forked(forks_, used_before_fork);
}

void mark::wait() const {
  if (completed()) return;
  check_not_forked(forks_, used_before_fork);
  done_.wait(0, std::memory_order_acquire);
}

std::shared_ptr<mark> event::current() const {
  const std::lock_guard lock(mutex_);
  return current_;
}

std::shared_ptr<mark> event::uncaptured(const char* what) const {
  auto now = current();
  if (now == nullptr || now->place() == nullptr) return now;
  const std::string problem = std::string(what) + " an event that was recorded in a capture";
  // The contract demands it: a host that waits for captured work would wait for ever.
  now->place()->of->break_off(problem);
  throw invalid_argument(problem + ": only streams of that capture may wait for it");
}

void event::record(stream& where) {
  if (shared_) {
    where.refuse_in_capture("recording an event of several processes");
    return record_shared(where);
  }
  std::shared_ptr<mark> fresh;
  if (where.captured()) {
    fresh = std::make_shared<mark>(where.place_in_capture());
  } else {
    // The mark is the event's only after the stream has taken it. If enqueueing throws, the event
    // keeps its old meaning.
    fresh = std::make_shared<mark>();
    fresh->watch(where.failure());
    if (!where.try_run([&] { fresh->complete(); }, no_work)) {
      where.enqueue_uncaptured([fresh] { fresh->complete(); }, "recording an event", nullptr,
                               runner::a_waiter_too, no_work);
    }
  }
  const std::lock_guard lock(mutex_);
  current_ = std::move(fresh);
}

void event::record_shared(stream& where) {
  bool recorded = false;
  if (where.try_run([&] { recorded = shared_->try_record(); }, no_work) && recorded) return;
  // The number is taken only once nothing can fail any more: completing it after a failure might
  // block the caller.
  const auto number = std::make_shared<uint64_t>(0);
  where.enqueue_uncaptured([shared = shared_, number] { shared->complete(*number); },
                           "recording an event of several processes",
                           [&] { *number = shared_->begin(); }, runner::its_thread, no_work);
}

void event::wait(stream& waiting) const {
  if (shared_) {
    waiting.refuse_in_capture("waiting for an event of several processes");
    const uint64_t last = shared_->last();
    if (shared_->done(last)) return;
    waiting.enqueue([shared = shared_, last] { shared->wait(last); }, runner::its_thread, no_work);
    return;
  }
  const auto now = current();
  if (now == nullptr) return;
  if (now->place() != nullptr) return waiting.wait_in_capture(*now->place());
  // Asked even if the event is complete: whether a capture breaks must not depend on timing.
  waiting.refuse_in_capture("waiting for an event that was recorded outside of it");
  if (now->completed()) return;
  now->check_reachable();
  // The waiting stream's thread blocks in the mark. The lambda owns the mark, so the event may be
  // recorded again or destroyed meanwhile.
  waiting.enqueue_uncaptured([now] { now->wait(); }, "waiting for an event", nullptr,
                             runner::its_thread, no_work);
}

bool event::query() const {
  if (shared_) return shared_->done(shared_->last());
  const auto now = uncaptured("asking for");
  if (now == nullptr) return true;
  if (!now->completed()) return false;
  now->tell_failure();
  return true;
}

void event::sync() const {
  if (shared_) return shared_->wait(shared_->last());
  const auto now = uncaptured("waiting for");
  if (now == nullptr) return;
  now->wait();
  now->tell_failure();
}

std::optional<int64_t> event::elapsed(const event& from, const event& to) {
  for (const event* e : {&from, &to}) {
    if ((e->flags_ & OUTBACK_EVENT_TIMING) == 0) {
      throw invalid_argument(
          "elapsed time needs two events that were created with OUTBACK_EVENT_TIMING");
    }
  }
  if (from.device_ != to.device_) {
    throw invalid_argument("elapsed time needs two events of one device, not of devices " +
                           std::to_string(from.device_) + " and " + std::to_string(to.device_));
  }
  const auto first = from.uncaptured("the time of"), last = to.uncaptured("the time of");
  if (first == nullptr || last == nullptr) {
    throw invalid_argument("elapsed time needs two events that were recorded");
  }
  if (!first->completed() || !last->completed()) return std::nullopt;
  return last->time() - first->time();
}

}  // namespace outback::host
