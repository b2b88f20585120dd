// A group's record of its pending operations, so that the group can end them when it ends.
#pragma once

#include <torch/csrc/distributed/c10d/Work.hpp>

#include <chrono>

namespace outback::distributed {

/// A Work that the group can end through its `abort`, from any thread.
class pending_work : public c10d::Work {
 public:
  using Work::Work;

  /// Waits until the Work is complete, or until only a wait() can complete it, but not beyond
  /// `deadline`. Returns false if `deadline` passed first.
  virtual bool has_ended(std::chrono::steady_clock::time_point deadline) = 0;
};

}  // namespace outback::distributed
