// The Work of an all_reduce of a sparse tensor over Gloo.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <atomic>
#include <vector>

#include "backend_template/distributed/gloo/pending_work.h"
#include "backend_template/distributed/operation.h"

namespace outback::distributed {

/// Copies the result to the device in Gloo's thread, as soon as Gloo has it, since
/// DistributedDataParallel waits only for the future, not for the Work.
class sparse_work final : public pending_work {
 public:
  /// `transports` is Gloo's Work on `host`, a copy of `device`.
  sparse_work(operation what, c10::intrusive_ptr<c10d::Work> transports, at::Tensor host,
              at::Tensor device);
  /// Makes the Work end when Gloo's Work ends. Call it once.
  void follow();

  bool wait(std::chrono::milliseconds timeout) override;
  bool has_ended(std::chrono::steady_clock::time_point deadline) override;
  void abort() override;
  /// Drops the tensors, so that the transport's weak references keep no memory, as in gloo_work.
  void release_resources() override;
  std::vector<at::Tensor> result() override { return {device_}; }
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override { return future_; }

 private:
  void complete(std::exception_ptr error) noexcept;

  const operation what_;
  c10::intrusive_ptr<c10d::Work> transports_;
  at::Tensor host_, device_;
  c10::intrusive_ptr<c10::ivalue::Future> future_;
  std::atomic<bool> ends_{false};  // Gloo's result or an abort completes the Work
};

}  // namespace outback::distributed
