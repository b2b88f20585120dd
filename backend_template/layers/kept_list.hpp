// A list for the whole process of objects that live until it ends: those that something is done
// with at exit.
#pragma once

#include <mutex>
#include <vector>

#include "backend_template/layers/fork_mutex.hpp"

namespace outback::layers {

/// Thread-safe, also in a forked child. Must be leaked: it is read at exit.
template <class T>
class kept_list {
 public:
  /// Returns true for the first element.
  bool add(const T& element) {
    const std::lock_guard lock(mutex_);
    all_.push_back(element);
    return all_.size() == 1;
  }

  bool empty() const {
    const std::lock_guard lock(mutex_);
    return all_.empty();
  }

  /// Returns a copy, because the elements have fork_mutexes of their own: nobody may hold the
  /// list's while they are used.
  std::vector<T> all() const {
    const std::lock_guard lock(mutex_);
    return all_;
  }

 private:
  mutable fork_mutex mutex_;
  std::vector<T> all_;
};

}  // namespace outback::layers
