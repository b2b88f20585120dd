// The Work of an operation over NCCL: NCCL's Work, with a future on this backend's tensors.
#pragma once

#include <ATen/core/ivalue.h>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include <vector>

#include "backend_template/distributed/operation.h"

namespace outback::distributed {

/// As thread-safe as NCCL's Work. Errors of the communication are c10d::DistBackendError with the
/// operation's name, rank, group and time.
///
/// NCCL's Work makes the twin's current stream wait, which is also the current stream of this
/// backend's device.
class nccl_work final : public c10d::Work {
 public:
  /// `outputs` are the device's tensors for the result, and the future's value: a list, or a list
  /// of lists if `outputs` has several.
  nccl_work(operation what, c10::intrusive_ptr<c10d::Work> transports, c10::Device device,
            std::vector<std::vector<at::Tensor>> outputs);

  bool isCompleted() override { return transports_->isCompleted(); }
  /// NCCL's Work does not implement isSuccess.
  bool isSuccess() const override {
    return transports_->isCompleted() && transports_->exception() == nullptr;
  }
  std::exception_ptr exception() const override;
  int sourceRank() const override { return transports_->sourceRank(); }
  std::vector<at::Tensor> result() override;
  void synchronize() override;
  bool wait(std::chrono::milliseconds timeout) override;
  void blockCurrentStream() override { transports_->blockCurrentStream(); }
  void abort() override { transports_->abort(); }
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;
  c10::intrusive_ptr<c10::ivalue::Future> getFutureResult() override {
    return transports_->getFutureResult();
  }
  float getDuration() const override { return transports_->getDuration(); }
  uint64_t getSequencenumber() const override { return transports_->getSequencenumber(); }

 private:
  const operation what_;
  const c10::intrusive_ptr<c10d::Work> transports_;
  const c10::Device device_;
  const std::vector<std::vector<at::Tensor>> outputs_;
  c10::intrusive_ptr<c10::ivalue::Future> future_;  // guarded by mutex_; null before the first use
};

}  // namespace outback::distributed
