// The order in which a group's operations reach its transport: that of the calls. An operation that
// has to wait for the device is begun by a thread of the group's, so that the caller need not wait.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace outback::distributed {

/// A queue with a thread that is started at the first need. Thread-safe.
class issuer {
 public:
  issuer() = default;
  /// Stops, as `stop` does.
  ~issuer();
  issuer(const issuer&) = delete;
  issuer& operator=(const issuer&) = delete;

  /// Returns true if nothing is queued or being begun: then the caller may begin an operation
  /// itself, and keeps the order.
  bool is_idle() const;
  /// Waits until `is_idle`.
  void wait_until_idle() const;

  /// Queues `begin`, which the thread calls when all that was queued before has begun. It may wait
  /// for the device, must not wait for other processes, and must not throw. After `stop` it is
  /// called at once, by the caller.
  void enqueue(std::function<void()> begin);

  /// Lets the thread call what is queued, and waits for its end. In a forked child, where there is
  /// no such thread, does nothing.
  void stop() noexcept;
  /// Waits at most until `deadline`, and leaves the thread alone then: this object must live until
  /// the process ends. Returns true if the thread has nothing left to call.
  bool leave(std::chrono::steady_clock::time_point deadline) noexcept;

 private:
  void run();

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  bool begins_ = false;  // one, which is in the queue no more
  bool stopped_ = false;
  std::thread thread_;
  int process_ = 0;  // whose thread it is
};

}  // namespace outback::distributed
