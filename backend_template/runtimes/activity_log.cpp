#include "backend_template/runtimes/activity_log.hpp"

#include <algorithm>
#include <array>
#include <ctime>
#include <iterator>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "backend_template/runtimes/fork_count.hpp"
#include "outback/runtime_error.hpp"

namespace outback {
namespace {

// As deep as the contract says. Without a destructor: the objects of a thread that ends may still
// pop.
struct pushed_numbers {
  std::array<uint64_t, 64> all;
  std::size_t count;
};
thread_local constinit pushed_numbers pushed = {};

}  // namespace

activity_log::~activity_log() {
  delete state_.load(std::memory_order_acquire);
}

activity_log::state* activity_log::current() const noexcept {
  state* const found = state_.load(std::memory_order_acquire);
  return found != nullptr && found->forks == fork_count() ? found : nullptr;
}

activity_log::state& activity_log::make_current() {
  if (state* const found = current()) return *found;
  auto made = std::make_unique<state>(fork_count());
  // What a parent has left here is not touched, and leaked.
  state* before = state_.load(std::memory_order_acquire);
  while (before == nullptr || before->forks != made->forks) {
    if (state_.compare_exchange_weak(before, made.get(), std::memory_order_acq_rel)) {
      return *made.release();
    }
  }
  return *before;
}

void activity_log::start() {
  state& mine = make_current();
  const std::lock_guard lock(mine.mutex);
  if (mine.goes_on) throw invalid_argument("the device is in a recording already");
  mine.records.clear();
  mine.lost = 0;
  mine.goes_on = true;
  recording_.store(++mine.last, std::memory_order_relaxed);
}

void activity_log::stop() {
  state* const mine = current();
  if (mine != nullptr) {
    const std::lock_guard lock(mine->mutex);
    if (std::exchange(mine->goes_on, false)) {
      recording_.store(0, std::memory_order_relaxed);
      return;
    }
  }
  throw invalid_argument("the device is in no recording");
}

outback_records activity_log::read() {
  outback_records taken = {};
  state* const mine = current();
  if (mine == nullptr) return taken;
  const std::lock_guard lock(mine->mutex);
  const std::size_t count = std::min(mine->records.size(), std::size(taken.list));
  const auto end = mine->records.begin() + std::ptrdiff_t(count);
  std::copy(mine->records.begin(), end, taken.list);
  mine->records.erase(mine->records.begin(), end);
  taken.count = uint32_t(count);
  taken.lost = std::exchange(mine->lost, 0);
  return taken;
}

void activity_log::add(uint64_t recording, const outback_record& done) noexcept {
  state* const mine = current();
  if (mine == nullptr) return;  // in a child, of its parent's recording
  const std::lock_guard lock(mine->mutex);
  if (mine->last != recording) return;
  try {
    if (mine->records.size() < room) return mine->records.push_back(done);
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch)
  }
  ++mine->lost;
}

int64_t activity_now() noexcept {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

void push_correlation(uint64_t number) {
  if (pushed.count == pushed.all.size()) {
    throw invalid_argument("the thread has pushed " + std::to_string(pushed.count) +
                           " numbers and popped none of them: expected fewer");
  }
  pushed.all[pushed.count++] = number;
}

uint64_t pop_correlation() {
  if (pushed.count == 0) throw invalid_argument("the thread has pushed no number");
  return pushed.all[--pushed.count];
}

uint64_t correlation_here() noexcept {
  return pushed.count == 0 ? 0 : pushed.all[pushed.count - 1];
}

}  // namespace outback
