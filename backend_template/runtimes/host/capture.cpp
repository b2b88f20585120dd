#include "backend_template/runtimes/host/capture.hpp"

#include <algorithm>
#include <deque>
#include <utility>

#include "outback/runtime_error.hpp"

namespace outback::host {
namespace {

uint64_t steps(const progress& of, std::size_t lane) {
  return lane < of.size() ? of[lane] : 0;
}

// Whether `done` has all the steps that `needs` names.
bool covers(const progress& done, const progress& needs) {
  for (std::size_t i = 0; i < needs.size(); ++i) {
    if (needs[i] > steps(done, i)) return false;
  }
  return true;
}

// Merges `more` into `sum`: of each lane the larger number of steps counts.
void add_to(progress& sum, const progress& more) {
  if (sum.size() < more.size()) sum.resize(more.size());
  for (std::size_t i = 0; i < more.size(); ++i) sum[i] = std::max(sum[i], more[i]);
}

}  // namespace

void recording::add(std::size_t lane, progress needs, std::function<void()> work,
                    const work_note& note) {
  pieces_.push_back({lane, std::move(needs), std::move(work), note});
}

void recording::run(const record_place& place) const {
  for (const piece& p : pieces_) run_recorded(place, p.note, p.work);
}

void recording::run_in_some_order(randomness& choice, const record_place& place) const {
  std::vector<std::deque<const piece*>> left;  // of each lane, in its own order
  progress done;
  for (const piece& p : pieces_) {
    if (left.size() <= p.lane) left.resize(p.lane + 1);
    left[p.lane].push_back(&p);
    if (done.size() < p.needs.size()) done.resize(p.needs.size());
  }
  // The first step of each lane is that it joined, which has no work.
  std::fill(done.begin(), done.end(), 1);
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    // Never empty: a piece needs only pieces that were enqueued before it, so the oldest one that
    // is left is always ready.
    std::vector<std::size_t> ready;
    for (std::size_t lane = 0; lane < left.size(); ++lane) {
      if (!left[lane].empty() && covers(done, left[lane].front()->needs)) ready.push_back(lane);
    }
    const std::size_t chosen = ready[choice.below(ready.size())];
    const piece& next = *left[chosen].front();
    run_recorded(place, next.note, next.work);
    left[chosen].pop_front();
    ++done[chosen];
  }
}

void capture::check_going_on() const {
  if (over_) throw invalid_argument("the capture has ended");
  if (!problem_.empty()) throw invalid_argument("the capture is broken: " + problem_);
}

std::size_t capture::join(std::weak_ptr<stream> who, const progress& seen) {
  const std::lock_guard lock(mutex_);
  check_going_on();
  // A lane has seen its own joining, and all that the event that brought it in had seen.
  progress mine = seen;
  mine.resize(lanes_.size() + 1);
  mine.back() = 1;
  lanes_.push_back({std::move(who), std::move(mine)});
  return lanes_.size() - 1;
}

void capture::wait(std::size_t lane, const progress& seen) {
  const std::lock_guard lock(mutex_);
  check_going_on();
  add_to(lanes_[lane].seen, seen);
}

void capture::record(std::size_t lane, std::function<void()> work, const work_note& note) {
  const std::lock_guard lock(mutex_);
  check_going_on();
  // The step counts after the work was noted: a piece must not need itself.
  work_.add(lane, lanes_[lane].seen, std::move(work), note);
  ++lanes_[lane].seen[lane];
}

progress capture::seen_by(std::size_t lane) const {
  const std::lock_guard lock(mutex_);
  check_going_on();
  return lanes_[lane].seen;
}

void capture::break_off(const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (problem_.empty()) problem_ = why;
}

bool capture::broken() const {
  const std::lock_guard lock(mutex_);
  return !problem_.empty();
}

capture::result capture::end() {
  const std::lock_guard lock(mutex_);
  if (over_) throw invalid_argument("the capture has ended");
  over_ = true;
  result left;
  left.work = std::move(work_);
  left.problem = problem_;
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    left.streams.push_back(lanes_[i].who);
    // Lane 0 must have seen the last step of every lane. Otherwise a launch could end before that
    // lane's work.
    if (left.problem.empty() && steps(lanes_[0].seen, i) < steps(lanes_[i].seen, i)) {
      left.problem =
          "a stream of the capture was not joined: record an event on it after its last work, and "
          "let the stream of the begin wait for it";
    }
  }
  return left;
}

}  // namespace outback::host
