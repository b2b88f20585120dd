#include "backend_template/distributed/joint_work.h"

#include <ATen/core/ivalue.h>

#include <algorithm>

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
  bool all = true;
  for (const auto& part : parts_) all = part->wait(timeout) && all;
  return all;
}

void joint_work::abort() {
  for (const auto& part : parts_) part->abort();
}

c10::intrusive_ptr<c10::ivalue::Future> joint_work::getFuture() {
  if (parts_.size() == 1) return parts_.front()->getFuture();
  c10::List<c10::intrusive_ptr<c10::ivalue::Future>> futures(
      c10::FutureType::create(c10::AnyType::get()));
  for (const auto& part : parts_) futures.push_back(part->getFuture());
  return c10::collectAll(futures);
}

}  // namespace outback::distributed
