#include "backend_template/distributed/joint_work.h"

#include <ATen/core/ivalue.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <chrono>

#include "backend_template/core/runtime/runtime.h"

namespace outback::distributed {

bool joint_work::isCompleted() {
  return std::all_of(parts_.begin(), parts_.end(),
                     [](const auto& part) { return part->isCompleted(); });
}

bool joint_work::isSuccess() const {
  return std::all_of(parts_.begin(), parts_.end(),
                     [](const auto& part) { return part->isSuccess(); });
}

std::exception_ptr joint_work::exception() const {
  for (const auto& part : parts_) {
    if (const std::exception_ptr error = part->exception()) return error;
  }
  return nullptr;
}

void joint_work::synchronize() {
  for (const auto& part : parts_) part->synchronize();
}

bool joint_work::wait(std::chrono::milliseconds timeout) {
  using std::chrono::milliseconds;
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  bool all = true;
  for (const auto& part : parts_) {
    milliseconds left = timeout;
    if (timeout != kNoTimeout) {
      const auto until = deadline - std::chrono::steady_clock::now();
      // Not 0, which is kNoTimeout.
      left = std::max(milliseconds(1), std::chrono::ceil<milliseconds>(until));
    }
    all = part->wait(left) && all;
  }
  return all;
}

void joint_work::abort() {
  for (const auto& part : parts_) part->abort();
}

std::vector<at::Tensor> joint_work::result() {
  TORCH_CHECK(is_one_, core::backend_name(),
              ": result() is for one operation; get_future() has the value of several");
  TORCH_CHECK(isCompleted(), core::backend_name(), ": call wait() before result()");
  return outputs_;
}

c10::intrusive_ptr<c10::ivalue::Future> joint_work::getFuture() {
  {
    const std::lock_guard lock(future_mutex_);
    if (future_) return future_;
  }
  // Outside of the lock: a part that is complete calls back at once.
  c10::intrusive_ptr<c10::ivalue::Future> made = make_future();
  const std::lock_guard lock(future_mutex_);
  if (!future_) future_ = std::move(made);
  return future_;
}

c10::intrusive_ptr<c10::ivalue::Future> joint_work::make_future() const {
  if (parts_.size() == 1) return parts_.front()->getFuture();
  c10::List<c10::intrusive_ptr<c10::ivalue::Future>> futures(
      c10::FutureType::create(c10::AnyType::get()));
  for (const auto& part : parts_) futures.push_back(part->getFuture());
  const auto all = c10::collectAll(futures);
  if (!is_one_) return all;
  return all->then(
      [outputs = outputs_](c10::ivalue::Future& parts) -> c10::IValue {
        if (parts.hasError()) std::rethrow_exception(parts.exception_ptr());
        return outputs;
      },
      c10::ListType::create(c10::TensorType::get()));
}

}  // namespace outback::distributed
