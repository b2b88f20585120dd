// Several operations as one Work: the operations of torch's coalescing manager, or the operations
// on the pieces of one tensor.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Stream.h>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace outback::distributed {

/// Complete when all of `parts`, which have begun already, are complete. Thread-safe.
class joint_work final : public c10d::Work {
 public:
  using works = std::vector<c10::intrusive_ptr<c10d::Work>>;

  /// For coalesced operations. The future's value is a list of the parts' futures, for which
  /// streams wait.
  explicit joint_work(works parts) : Work(-1, c10d::OpType::COALESCED), parts_(std::move(parts)) {}
  /// For the pieces of one operation. The future's value is `outputs`, which are complete on the
  /// stream `result`.
  joint_work(works parts, int rank, c10d::OpType type, std::vector<at::Tensor> outputs,
             c10::Stream result)
      : Work(rank, type), parts_(std::move(parts)), result_(result), outputs_(std::move(outputs)) {}

  bool isCompleted() override;
  bool isSuccess() const override;
  std::exception_ptr exception() const override;
  std::vector<at::Tensor> result() override;
  void synchronize() override;
  /// Waits for all parts, at most `timeout` in total. Throws the first error.
  bool wait(std::chrono::milliseconds timeout) override;
  void abort() override;
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;

 private:
  c10::intrusive_ptr<c10::ivalue::Future> make_future() const;
  c10::intrusive_ptr<c10::ivalue::Future> future_of_outputs(c10::ivalue::Future& all) const;

  const works parts_;
  const std::optional<c10::Stream> result_;  // null for coalesced operations
  const std::vector<at::Tensor> outputs_;
  std::mutex future_mutex_;
  c10::intrusive_ptr<c10::ivalue::Future> future_;
};

}  // namespace outback::distributed
