// A mutex that is free in a forked child, whoever held it at the fork.
#pragma once

#include <mutex>

namespace outback::layers {

/// A fork takes all of them, so a thread that holds one takes no other. For std::lock_guard.
class fork_mutex {
 public:
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
