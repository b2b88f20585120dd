#include "backend_template/distributed/gloo/joint_work.h"

#include <ATen/core/ivalue.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <chrono>

#include "backend_template/core/runtime/runtime.h"
#include "backend_template/distributed/gloo/lanes.h"

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
  TORCH_CHECK(result_.has_value(), core::backend_name(),
              ": result() is for one operation; get_future() has the value of several");
  const bool are_over = std::all_of(parts_.begin(), parts_.end(), [](const auto& part) {
    return part->isSuccess() || part->exception() != nullptr;
  });
  TORCH_CHECK(are_over, core::backend_name(), ": call wait() before result()");
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
  return result_ ? future_of_outputs(*all) : all;
}

// Futures that are collected have no device, and so have those of their `then`: whoever waits for
// them does not wait for the streams.
c10::intrusive_ptr<c10::ivalue::Future> joint_work::future_of_outputs(
    c10::ivalue::Future& all) const {
  auto made = c10::make_intrusive<c10::ivalue::Future>(
      c10::ListType::create(c10::TensorType::get()), std::vector<c10::Device>{result_->device()});
  all.addCallback(
      [made, outputs = outputs_, result = *result_](c10::ivalue::Future& parts) {
        try {
          if (parts.hasError()) return made->setError(parts.exception_ptr());
          const on_stream with_the_result(result);
          made->markCompleted(outputs);
        } catch (...) {
          if (!made->completed()) made->setError(std::current_exception());
        }
      },
      /*uses_future=*/false);
  return made;
}

}  // namespace outback::distributed
