#include "tests/fakes/cudart/work.hpp"

#include <algorithm>
#include <thread>
#include <utility>

namespace fake_cuda {
namespace {

constexpr int processors = 4;  // so much work runs at once, beside what may block
constexpr auto patience = std::chrono::milliseconds(200);  // of a thread with nothing to do

}  // namespace

work_ptr executor::submit(task what, int device, int priority, std::span<const work_ptr> after) {
  auto made = std::make_shared<work>();
  made->what = std::move(what);
  made->device = device;
  made->priority = priority;
  made->number = next_number_++;
  for (const block_ptr& used : made->what.uses) ++used->in_use;
  for (const work_ptr& each : after) {
    if (each == nullptr || each->done) continue;
    each->followers.push_back(made);
    ++made->waits_for;
  }
  if (made->waits_for == 0) make_ready(made);
  return made;
}

void executor::make_ready(work_ptr given) {
  ready_.push_back(std::move(given));
  need_threads();
  has_work_.notify_one();
}

void executor::need_threads() {
  if (int(ready_.size()) <= idle_ || threads_ - blocked_ >= processors) return;
  ++threads_;
  std::thread([this] { run_until_idle(); }).detach();
}

work_ptr executor::next() {
  const auto can_run = [this](const work_ptr& each) {
    return !options_.serial_host_functions || each->what.kind != work_kind::host_function ||
           host_functions_ == 0;
  };
  auto best = ready_.end();
  if (options_.adversary && !ready_.empty()) {
    const auto start = std::ptrdiff_t(random_() % ready_.size());
    std::rotate(ready_.begin(), ready_.begin() + start, ready_.end());
    best = std::find_if(ready_.begin(), ready_.end(), can_run);
  } else {
    for (auto each = ready_.begin(); each != ready_.end(); ++each) {
      if (!can_run(*each)) continue;
      if (best == ready_.end() || (*each)->priority < (*best)->priority ||
          ((*each)->priority == (*best)->priority && (*each)->number < (*best)->number)) {
        best = each;
      }
    }
  }
  if (best == ready_.end()) return nullptr;
  work_ptr found = std::move(*best);
  ready_.erase(best);
  return found;
}

void executor::run_until_idle() {
  std::unique_lock lock(mutex_);
  for (;;) {
    const work_ptr given = next();
    if (given == nullptr) {
      ++idle_;
      const auto end = std::chrono::system_clock::now() + patience;
      const bool told = has_work_.wait_until(lock, end) == std::cv_status::no_timeout;
      --idle_;
      if (told || !ready_.empty()) continue;
      --threads_;
      return;
    }
    const bool blocks = given->what.may_block();
    const bool host_function = given->what.kind == work_kind::host_function;
    blocked_ += blocks;
    host_functions_ += host_function;
    need_threads();
    const bool runs = hooks_.may_run(*given);
    const auto pause = options_.adversary && random_() % 2 == 0 ? random_() % 200 : 0;
    lock.unlock();
    if (pause > 0) std::this_thread::sleep_for(std::chrono::microseconds(pause));
    if (runs && given->what.body) given->what.body();
    given->what.body = nullptr;
    given->what.keeps = nullptr;
    lock.lock();
    blocked_ -= blocks;
    host_functions_ -= host_function;
    complete(*given);
    if (host_function && options_.serial_host_functions) has_work_.notify_all();
  }
}

void executor::complete(work& given) {
  given.done = true;
  given.time = std::chrono::steady_clock::now();
  for (const block_ptr& used : given.what.uses) --used->in_use;
  given.what.uses.clear();
  hooks_.on_done(given);
  for (work_ptr& each : std::exchange(given.followers, {})) {
    if (--each->waits_for == 0) make_ready(std::move(each));
  }
  progress_.notify_all();
}

void executor::wait(std::unique_lock<std::mutex>& lock, const std::function<bool()>& until) {
  progress_.wait(lock, until);
}

}  // namespace fake_cuda
