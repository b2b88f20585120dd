#include "backend_template/distributed/nccl/work.h"

#include <c10/util/Exception.h>

#include <utility>

#include "backend_template/core/runtime/interpreter_lock.h"
#include "backend_template/distributed/future_value.h"

namespace outback::distributed {

nccl_work::nccl_work(operation what, c10::intrusive_ptr<c10d::Work> transports, c10::Device device,
                     std::vector<std::vector<at::Tensor>> outputs)
    : Work(what.rank, what.type),
      what_(std::move(what)),
      transports_(std::move(transports)),
      device_(device),
      outputs_(std::move(outputs)) {}

std::exception_ptr nccl_work::exception() const {
  const std::exception_ptr error = transports_->exception();
  return error ? what_.failed(error) : nullptr;
}

std::vector<at::Tensor> nccl_work::result() {
  TORCH_CHECK(outputs_.size() <= 1, what_.text(),
              ": result() is for one list of tensors; get_future() has the value");
  return outputs_.empty() ? std::vector<at::Tensor>() : outputs_.front();
}

void nccl_work::synchronize() {
  const core::without_interpreter_lock while_it_waits;
  transports_->synchronize();
}

bool nccl_work::wait(std::chrono::milliseconds timeout) {
  const core::without_interpreter_lock while_it_waits;
  try {
    return transports_->wait(timeout);
  } catch (const c10::DistBackendError&) {
    std::rethrow_exception(what_.failed(std::current_exception()));
  }
}

c10::intrusive_ptr<c10::ivalue::Future> nccl_work::getFuture() {
  {
    const std::lock_guard lock(mutex_);
    if (future_ != nullptr) return future_;
  }
  const auto theirs = transports_->getFuture();
  TORCH_CHECK_NOT_IMPLEMENTED(theirs != nullptr, what_.text(),
                              ": NCCL has no future for it; call wait()");
  auto made = c10::make_intrusive<c10::ivalue::Future>(value_type(outputs_), std::vector{device_});
  // Runs at once, or when NCCL's future is complete. The current stream is one behind the
  // operation then, so that the events of our future are too.
  theirs->addCallback(
      [made, what = what_, outputs = outputs_](c10::ivalue::Future& ended) {
        if (ended.hasError()) {
          made->setError(what.failed(ended.exception_ptr()));
        } else {
          made->markCompleted(value_of(outputs));
        }
      },
      /*uses_future=*/true);
  const std::lock_guard lock(mutex_);
  if (future_ == nullptr) future_ = std::move(made);
  return future_;
}

}  // namespace outback::distributed
