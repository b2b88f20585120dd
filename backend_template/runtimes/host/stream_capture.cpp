// The part of a stream that deals with captures.
#include <utility>

#include "backend_template/runtimes/host/stream.hpp"
#include "outback/runtime_error.hpp"

namespace outback::host {

outback_capture stream::capture_status() const {
  if (!captured()) return OUTBACK_CAPTURE_NONE;
  const std::lock_guard lock(mutex_);
  if (capture_ == nullptr) return OUTBACK_CAPTURE_NONE;
  return capture_->broken() ? OUTBACK_CAPTURE_BROKEN : OUTBACK_CAPTURE_ACTIVE;
}

void stream::begin_capture() {
  check_same_process();
  auto fresh = std::make_shared<capture>();
  const std::lock_guard lock(mutex_);
  if (capture_ != nullptr) throw invalid_argument("the stream is in a capture already");
  enter(std::move(fresh), {});
}

void stream::enter(std::shared_ptr<capture> given, const progress& seen) {
  lane_ = given->join(weak_from_this(), seen);
  capture_ = std::move(given);
  // From here on `idle` is false, so every way in comes to the lock and sees capture_.
  pending_.fetch_or(captured_bit, std::memory_order_relaxed);
}

recording stream::end_capture() {
  check_same_process();
  std::shared_ptr<capture> ending;
  {
    const std::lock_guard lock(mutex_);
    if (capture_ == nullptr) throw invalid_argument("the stream is in no capture");
    if (lane_ != 0) throw invalid_argument("the capture began on another stream");
    // The streams leave without this lock: `leave` takes each stream's own, this one's too.
    ending = capture_;
  }
  capture::result left = ending->end();
  // They leave also if there is no graph, or they would be stuck in a capture that is over.
  for (const auto& each : left.streams) {
    if (const auto alive = each.lock()) alive->leave(*ending);
  }
  if (!left.problem.empty()) throw invalid_argument("no graph: " + left.problem);
  return std::move(left.work);
}

void stream::leave(const capture& given) {
  const std::lock_guard lock(mutex_);
  // It may have left already, or be in another capture by now.
  if (capture_.get() != &given) return;
  capture_.reset();
  pending_.fetch_and(~captured_bit, std::memory_order_release);
}

std::unique_ptr<const capture::place> stream::place_in_capture() const {
  const std::lock_guard lock(mutex_);
  if (capture_ == nullptr) throw invalid_argument("the stream is in no capture");
  return std::make_unique<const capture::place>(
      capture::place{.of = capture_, .seen = capture_->seen_by(lane_)});
}

void stream::wait_in_capture(const capture::place& there) {
  check_same_process();
  const std::lock_guard lock(mutex_);
  // The contract: a stream that waits for an event of a capture becomes a part of it.
  if (capture_ == nullptr) return enter(there.of, there.seen);
  if (capture_ == there.of) return capture_->wait(lane_, there.seen);
  constexpr const char* problem = "a stream of one capture waited for an event of another";
  capture_->break_off(problem);
  there.of->break_off(problem);
  throw invalid_argument(problem);
}

void stream::refuse_in_capture(const char* what) const {
  if (!captured()) return;
  const std::lock_guard lock(mutex_);
  refuse_locked(what);
}

void stream::refuse_locked(const char* what) const {
  if (capture_ == nullptr) return;
  capture_->break_off(std::string(what) + " cannot be captured");
  throw invalid_argument("the stream is in a capture, which this breaks: " + std::string(what) +
                         " cannot be captured");
}

void stream::abandon_capture() {
  if (!captured() || !same_process()) return;
  std::shared_ptr<capture> mine;
  bool began_here = false;
  {
    const std::lock_guard lock(mutex_);
    if (capture_ == nullptr) return;
    mine = capture_;
    began_here = lane_ == 0;
  }
  mine->break_off("a stream of it was destroyed");
  leave(*mine);
  // Nobody could end the capture any more, so it ends here.
  if (!began_here) return;
  for (const auto& each : mine->end().streams) {
    if (const auto alive = each.lock()) alive->leave(*mine);
  }
}

}  // namespace outback::host
