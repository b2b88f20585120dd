// What a group keeps of its operations, to end them together with itself.
#pragma once

#include <torch/csrc/distributed/c10d/Work.hpp>

#include <chrono>

namespace outback::distributed {

/// A Work that the group's abort ends by `abort`, from any thread.
class pending_work : public c10d::Work {
 public:
  using Work::Work;

  /// Waits until the Work is complete or only a wait would complete it, but not beyond `deadline`.
  /// Returns whether that is so.
  virtual bool has_ended(std::chrono::steady_clock::time_point deadline) = 0;
};

}  // namespace outback::distributed
