// Several operations as one Work, for torch's coalescing manager.
#pragma once

#include <torch/csrc/distributed/c10d/Work.hpp>

#include <vector>

namespace outback::distributed {

/// Complete when all of `parts` are. They have begun already.
class joint_work final : public c10d::Work {
 public:
  explicit joint_work(std::vector<c10::intrusive_ptr<c10d::Work>> parts)
      : Work(-1, c10d::OpType::COALESCED), parts_(std::move(parts)) {}

  bool isCompleted() override;
  bool isSuccess() const override;
  std::exception_ptr exception() const override;
  void synchronize() override;
  /// Waits for one after another, each at most `timeout`. Throws the first error.
  bool wait(std::chrono::milliseconds timeout) override;
  void abort() override;
  /// The value is a list with the value of each part's future.
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;

 private:
  const std::vector<c10::intrusive_ptr<c10d::Work>> parts_;
};

}  // namespace outback::distributed
