#include "backend_template/runtimes/opencl/host_thread.hpp"

#include <cstdlib>
#include <string>
#include <system_error>
#include <thread>

#include "backend_template/runtimes/fork_count.hpp"
#include "outback/runtime_error.hpp"

namespace outback::opencl {
namespace {

// Held while the thread is inside the driver. After main() has returned, the driver's library is
// torn down even if threads are still inside.
std::mutex& driver_calls() {
  static auto& mutex = *new std::mutex;  // leaked: the thread outlives main()
  return mutex;
}
bool process_ends = false;  // guarded by driver_calls()
uint32_t forks_at_start = 0;

}  // namespace

host_thread& the_host_thread() {
  static auto& thread = *new host_thread;  // leaked: it outlives main()
  return thread;
}

void host_thread::end_calls() {
  // In a forked child the mutex may be held by a thread that only the parent has.
  if (fork_count() != forks_at_start) return;
  const std::lock_guard lock(driver_calls());
  process_ends = true;
}

void host_thread::start(const driver_api& api) {
  const std::lock_guard lock(mutex_);
  if (started_) return;
  api_ = &api;
  forks_at_start = fork_count();
  // The driver is loaded, so its own handler was registered before and runs after this one. atexit
  // fails only when memory is short; then an exit with callbacks in the queue may crash.
  [[maybe_unused]] static const int registered = std::atexit(end_calls);
  try {
    std::thread([this] { run(); }).detach();
  } catch (const std::system_error& error) {
    throw runtime_error(OUTBACK_INTERNAL,
                        std::string("no thread can be started for callbacks: ") + error.what());
  }
  started_ = true;
}

void host_thread::push(prepared one) noexcept {
  const std::lock_guard lock(mutex_);
  jobs_.splice(jobs_.end(), one);
  changed_.notify_one();
}

void host_thread::run() noexcept {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return !jobs_.empty(); });
    prepared one;
    one.splice(one.end(), jobs_, jobs_.begin());
    lock.unlock();
    if (one.front().work) one.front().work();
    {
      const std::lock_guard calls(driver_calls());
      if (process_ends) {
        // Its references are left to the end of the process: the driver may be gone.
        static auto& abandoned = *new prepared;
        abandoned.splice(abandoned.end(), one);
        return;
      }
      // There is nobody to report a failure to.
      api_->clSetUserEventStatus(one.front().gate.get(), one.front().status);
      one.clear();
    }
    lock.lock();
  }
}

}  // namespace outback::opencl
