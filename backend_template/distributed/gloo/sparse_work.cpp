#include "backend_template/distributed/gloo/sparse_work.h"

#include <ATen/core/LegacyTypeDispatch.h>

#include <mutex>
#include <utility>

#include "backend_template/core/runtime/format.h"
#include "backend_template/core/runtime/interpreter_lock.h"

namespace outback::distributed {

sparse_work::sparse_work(operation what, c10::intrusive_ptr<c10d::Work> transports, at::Tensor host,
                         at::Tensor device)
    : pending_work(what.rank, what.type),
      what_(std::move(what)),
      transports_(std::move(transports)),
      host_(std::move(host)),
      device_(std::move(device)),
      future_(
          c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()),
                                                   std::vector<c10::Device>{device_.device()})) {}

void sparse_work::follow() {
  auto self = c10::intrusive_ptr<sparse_work>::reclaim_copy(this);
  transports_->getFuture()->addCallback(
      [self = std::move(self)](c10::ivalue::Future& ended) {
        self->complete(ended.hasError() ? self->what_.failed(ended.exception_ptr()) : nullptr);
      },
      /*uses_future=*/false);
}

bool sparse_work::wait(std::chrono::milliseconds timeout) {
  {
    const core::without_interpreter_lock while_it_waits;
    std::unique_lock lock(mutex_);
    const auto is_over = [&] { return completed_; };
    if (timeout == kNoTimeout) {
      cv_.wait(lock, is_over);
    } else if (!cv_.wait_for(lock, timeout, is_over)) {
      std::rethrow_exception(what_.failed(
          core::format("it is not complete, and wait(timeout) had {} ms", timeout.count())));
    }
    if (exception_) std::rethrow_exception(exception_);
  }
  future_->wait();  // which orders the calling thread's current stream
  return true;
}

bool sparse_work::has_ended(std::chrono::steady_clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  return cv_.wait_until(lock, deadline, [&] { return completed_; });
}

void sparse_work::abort() {
  complete(what_.failed(std::string("it was aborted")));
}

void sparse_work::release_resources() {
  transports_.reset();
  host_.reset();
  device_.reset();
  future_.reset();
}

void sparse_work::complete(std::exception_ptr error) noexcept {
  if (ends_.exchange(true)) return;
  try {
    if (!error) {
      const at::AutoDispatchBelowADInplaceOrView as_the_transport_does;
      device_.copy_(std::exchange(host_, {}).to(device_.device()));
      future_->markCompleted(std::vector<at::Tensor>{device_});
    }
  } catch (...) {
    error = what_.failed(std::current_exception());
  }
  if (error && !future_->completed()) future_->setError(error);
  finish(error);
}

}  // namespace outback::distributed
