// The thread that runs host work in the order of queues. OpenCL calls a function of ours when an
// event is complete, but on a thread of the driver, which must not be blocked, and the queue does
// not wait for that function. So the queue waits for an event of the host, which this thread
// completes after the work.
#pragma once

#include <condition_variable>
#include <functional>
#include <list>
#include <mutex>

#include "backend_template/runtimes/opencl/event_ref.hpp"

namespace outback::opencl {

/// One thread for all queues of the process. It starts with the first work, and never ends: the
/// object lives as long as the process. If the process exits, queued work does not run.
class host_thread {
 public:
  struct job {
    std::function<void()> work;   // may be empty
    event_ref gate;               // of the host (clCreateUserEvent): completed after the work
    cl_int status = CL_COMPLETE;  // that the gate gets; negative for a failure
  };
  /// A node of a list, so that queueing it allocates nothing.
  using prepared = std::list<job>;

  host_thread() = default;
  host_thread(const host_thread&) = delete;
  host_thread& operator=(const host_thread&) = delete;

  /// Starts the thread unless it runs. Throws outback::runtime_error if no thread can start.
  void start(const driver_api& api);
  /// Queues the one job of `one`. Jobs run in the order of these calls. May be called from a thread
  /// of the driver.
  void push(prepared one) noexcept;

 private:
  void run() noexcept;
  // Keeps the process from ending while the thread is inside the driver.
  static void end_calls();

  const driver_api* api_ = nullptr;
  std::mutex mutex_;
  std::condition_variable changed_;
  prepared jobs_;
  bool started_ = false;
};

/// Returns the one thread of the process.
host_thread& the_host_thread();

}  // namespace outback::opencl
