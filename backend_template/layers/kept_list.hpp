// A process-wide list of objects that live until the process ends and need some work at exit.
#pragma once

#include <mutex>
#include <vector>

#include "backend_template/layers/fork_mutex.hpp"

namespace outback::layers {

/// Thread-safe, also in a forked child. Leak the list, because it is read at exit.
template <class T>
class kept_list {
 public:
  /// Adds an element. Returns true if it is the first.
  bool add(const T& element) {
    const std::lock_guard lock(mutex_);
    all_.push_back(element);
    return all_.size() == 1;
  }

  bool empty() const {
    const std::lock_guard lock(mutex_);
    return all_.empty();
  }

  /// Returns a copy, because the elements have their own fork_mutexes: a thread that uses an
  /// element must not hold the list's fork_mutex.
  std::vector<T> all() const {
    const std::lock_guard lock(mutex_);
    return all_;
  }

 private:
  mutable fork_mutex mutex_;
  std::vector<T> all_;
};

}  // namespace outback::layers
