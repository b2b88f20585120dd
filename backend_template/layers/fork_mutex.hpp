// A mutex that is free in a forked child, even if another thread of the parent held it at the fork.
// In a child that thread does not exist, so a std::mutex would stay locked for ever.
#pragma once

#include <mutex>

namespace outback::layers {

/// For std::lock_guard. A fork locks every fork_mutex of the process first (pthread_atfork). So a
/// thread that holds one must not take another, or a fork could deadlock with it.
class fork_mutex {
 public:
  /// Adds the mutex to the list of those that a fork locks; the destructor removes it.
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
