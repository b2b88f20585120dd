// A mutex that is free in a forked child, even if another thread of the parent held it at the fork.
// The child does not have that thread, so a std::mutex would stay locked for ever.
#pragma once

#include <mutex>

namespace outback::layers {

/// For std::lock_guard. Before a fork, a pthread_atfork handler locks every fork_mutex of the
/// process. So a thread that holds one fork_mutex must not lock another, or the fork could
/// deadlock.
class fork_mutex {
 public:
  /// Adds this mutex to the list of mutexes that a fork locks; the destructor removes it.
  fork_mutex();
  ~fork_mutex();
  fork_mutex(const fork_mutex&) = delete;
  fork_mutex& operator=(const fork_mutex&) = delete;

  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

}  // namespace outback::layers
