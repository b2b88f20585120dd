#include "backend_template/runtimes/level_zero/host_worker.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "backend_template/runtimes/level_zero/driver_call.hpp"
#include "outback/runtime_error.hpp"

namespace outback::level_zero {
namespace {
// How long a thread without work stays, and how often it tries to open a gate.
constexpr std::chrono::milliseconds patience{200};
constexpr int gate_attempts = 3;
}  // namespace

// Shared with the thread, which may outlive the worker.
struct host_worker::state {
  std::mutex mutex;
  std::condition_variable changed;
  std::list<job> jobs;
  std::size_t announced = 0;  // prepared but not pushed: the thread must stay
  bool has_thread = false;
  std::atomic<bool> failed{false};
  std::exception_ptr problem;  // the first since `rethrow`
};

host_worker::host_worker() : state_(std::make_shared<state>()) {}

host_worker::prepared::~prepared() {
  if (one_.empty()) return;
  const std::lock_guard lock(state_->mutex);
  --state_->announced;
}

host_worker::prepared host_worker::prepare(std::function<void()> work) {
  std::list<job> one;
  one.push_back({event_ref(), event_ref(), std::move(work)});
  const std::lock_guard lock(state_->mutex);
  if (!state_->has_thread) {
    // Here at the latest: the driver is loaded, and the new thread is not in it yet.
    await_driver_calls_at_exit();
    try {
      std::thread([shared = state_] { run_jobs(shared); }).detach();
    } catch (const std::system_error& error) {
      throw runtime_error(OUTBACK_INTERNAL,
                          std::string("no thread can be started for callbacks: ") + error.what());
    }
    state_->has_thread = true;
  }
  ++state_->announced;
  return prepared(state_, std::move(one));
}

void host_worker::push(prepared one, event_ref reached, event_ref gate) noexcept {
  one.one_.front().reached = std::move(reached);
  one.one_.front().gate = std::move(gate);
  const std::lock_guard lock(state_->mutex);
  // Splicing moves the node and allocates nothing. So push cannot fail, and it must not: the queue
  // has commands already that wait for this job's gate.
  state_->jobs.splice(state_->jobs.end(), one.one_);
  --state_->announced;
  state_->changed.notify_one();
}

void host_worker::rethrow() {
  if (!state_->failed.load(std::memory_order_acquire)) return;
  std::exception_ptr problem;
  {
    const std::lock_guard lock(state_->mutex);
    problem = std::exchange(state_->problem, nullptr);
    state_->failed.store(false, std::memory_order_relaxed);
  }
  if (problem != nullptr) std::rethrow_exception(problem);
}

void host_worker::run_jobs(const std::shared_ptr<state>& shared) noexcept {
  std::unique_lock lock(shared->mutex);
  for (;;) {
    while (shared->jobs.empty()) {
      const bool waited = shared->changed.wait_for(lock, patience) == std::cv_status::timeout;
      if (waited && shared->jobs.empty() && shared->announced == 0) {
        shared->has_thread = false;
        return;
      }
    }
    std::list<job> one;
    one.splice(one.end(), shared->jobs, shared->jobs.begin());
    lock.unlock();
    run_job(*shared, one.front());
    // What the work owned goes while the lock is open.
    one.clear();
    lock.lock();
  }
}

// It waits in short pieces, so that an exit need not wait for the device.
bool host_worker::await(const event_ref& signal) {
  for (;;) {
    const driver_call call;
    if (!call) return false;
    if (signal.wait(longest_wait_ns)) return true;
  }
}

void host_worker::run_job(state& shared, const job& one) noexcept {
  const auto keep = [&shared] {
    const std::lock_guard lock(shared.mutex);
    if (shared.problem == nullptr) shared.problem = std::current_exception();
    shared.failed.store(true, std::memory_order_release);
  };
  try {
    if (await(one.reached)) one.work();
  } catch (const std::exception&) {
    keep();
  }
  // More than once, because a gate that stays shut stops the queue for good.
  for (int attempt = 0; attempt < gate_attempts; ++attempt) {
    const driver_call call;
    if (!call) return;
    try {
      return one.gate.signal();
    } catch (const std::exception&) {
      if (attempt + 1 == gate_attempts) keep();
    }
  }
}

}  // namespace outback::level_zero
