// Makes a group's operations reach its transport in the order of the calls. If an operation has to
// wait for the device, a thread of the group begins it, so that the caller need not wait.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace outback::distributed {

/// A queue with a thread, which the first `enqueue` starts. Thread-safe.
class issuer {
 public:
  issuer() = default;
  /// Stops, as `stop` does.
  ~issuer();
  issuer(const issuer&) = delete;
  issuer& operator=(const issuer&) = delete;

  /// Returns true if no operation is queued or being begun. Then the caller may begin an operation
  /// itself without breaking the order.
  bool is_idle() const;
  /// Waits until `is_idle`.
  void wait_until_idle() const;

  /// Queues `begin`, which the thread calls after all earlier entries. `begin` may wait for the
  /// device, but must not wait for other processes, and must not throw. After `stop`, this function
  /// calls `begin` at once.
  void enqueue(std::function<void()> begin);

  /// Lets the thread call all queued functions, and waits for the thread to end. Does nothing in a
  /// forked child, which does not have the thread.
  void stop() noexcept;
  /// Does what `stop` does, but waits at most until `deadline`. A thread that has not ended by then
  /// goes on, so this object must live until the process ends. Returns true if the thread has
  /// called all queued functions.
  bool leave(std::chrono::steady_clock::time_point deadline) noexcept;

 private:
  void run();

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  bool begins_ = false;  // the thread is in a function that it took from the queue
  bool stopped_ = false;
  std::thread thread_;
  int process_ = 0;  // the process that started the thread
};

}  // namespace outback::distributed
