#include "backend_template/distributed/gloo/work.h"

#include <ATen/core/ATen_fwd.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <c10/util/Exception.h>
#include <pthread.h>

#include <system_error>
#include <thread>
#include <utility>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/runtime/format.h"
#include "backend_template/core/runtime/interpreter_lock.h"
#include "backend_template/core/runtime/runtime.h"
#include "backend_template/distributed/future_value.h"
#include "backend_template/distributed/gloo/idle_threads.h"

namespace outback::distributed {
namespace {

// The loans are no views of the device's tensors for autograd, and nobody derives a transport.
using below_autograd = at::AutoDispatchBelowADInplaceOrView;

}  // namespace

gloo_work::gloo_work(operation what, loans lent, tensor_lists outputs)
    : pending_work(what.rank, what.type),
      what_(std::move(what)),
      lent_(std::move(lent)),
      outputs_(std::move(outputs)),
      future_(c10::make_intrusive<c10::ivalue::Future>(
          value_type(outputs_), std::vector<c10::Device>{lent_.result_stream().device()})) {}

void gloo_work::begin(const start& call) noexcept {
  was_queued_ = true;
  try {
    lent_.wait_until_fetched();
    begin_here(call);
  } catch (...) {
    // Those of begin_here stay as they are.
    complete_off_the_queue(what_.failed(std::current_exception()));
  }
}

void gloo_work::begin_here(const start& call) {
  {
    const std::lock_guard lock(mutex_);
    if (ends_) return;  // aborted before it was begun
  }
  core::begin_collective(recorded_);
  try {
    const below_autograd guard;
    follow(call());
  } catch (...) {
    std::rethrow_exception(what_.failed(std::current_exception()));
  }
}

void gloo_work::follow(c10::intrusive_ptr<c10d::Work> transports) {
  c10::intrusive_ptr<c10::ivalue::Future> ended;
  if (!c10d::isP2POp(opType_)) {
    try {
      ended = transports->getFuture();
    } catch (const c10::Error&) {  // NOLINT(bugprone-empty-catch)
      // c10d's way to say that there is none.
    }
  }
  bool in_a_thread = false;
  {
    const std::lock_guard lock(mutex_);
    transports_ = std::move(transports);
    lazy_ = ended == nullptr;
    in_a_thread = lazy_ && future_is_wanted_;
  }
  cv_.notify_all();
  if (in_a_thread) complete_in_a_thread();
  if (ended == nullptr) return;
  auto self = c10::intrusive_ptr<gloo_work>::reclaim_copy(this);
  ended->addCallback(
      [self = std::move(self), begins = std::this_thread::get_id()](c10::ivalue::Future& future) {
        auto error = future.hasError() ? self->what_.failed(future.exception_ptr()) : nullptr;
        const bool is_in_the_queue = self->was_queued_ && std::this_thread::get_id() == begins;
        if (is_in_the_queue) return self->complete_off_the_queue(std::move(error));
        self->complete(std::move(error));
      },
      /*uses_future=*/false);
}

// Callbacks of the future may wait for an operation that is called later, as PowerSGD's do, and so
// must not run in the thread that is to begin it.
void gloo_work::complete_off_the_queue(std::exception_ptr error) noexcept {
  try {
    auto self = c10::intrusive_ptr<gloo_work>::reclaim_copy(this);
    std::thread([self = std::move(self), error] { self->complete(error); }).detach();
  } catch (const std::system_error&) {  // there is no thread to be had
    complete(std::move(error));
  }
}

void gloo_work::complete(std::exception_ptr error) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(ends_, true)) return;
  }
  // From here on this thread alone completes the Work. The transport's Work goes with it, and with
  // that the memory of the loans, whatever becomes of this one.
  c10::intrusive_ptr<c10d::Work> transports;
  {
    const std::lock_guard lock(mutex_);
    transports = std::move(transports_);
  }
  core::end_collective(recorded_, lent_.result_stream().device_index(), what_.name);
  try {
    if (!error) lent_.give_back();
    const bool has_source = opType_ == c10d::OpType::RECV || opType_ == c10d::OpType::RECVANYSOURCE;
    if (!error && has_source) source_ = transports->sourceRank();
    const on_stream with_the_result(lent_.result_stream());
    if (error) {
      future_->setError(error);
    } else {
      future_->markCompleted(value_of(outputs_));
    }
  } catch (...) {
    error = what_.failed(std::current_exception());
    if (!future_->completed()) future_->setError(error);
  }
  finish(error);
}

void gloo_work::fail(const std::string& why) noexcept {
  complete(what_.failed(why));
}

bool gloo_work::wait(std::chrono::milliseconds timeout) {
  const core::without_interpreter_lock while_it_waits;
  bool lazily = false;
  {
    std::unique_lock lock(mutex_);
    const auto has_come = [&] { return completed_ || (lazy_ && !ends_); };
    if (timeout == kNoTimeout) {
      cv_.wait(lock, has_come);
    } else if (!cv_.wait_for(lock, timeout, has_come)) {
      std::rethrow_exception(what_.failed(
          core::format("it is not complete, and wait(timeout) had {} ms", timeout.count())));
    }
    lazily = !completed_;
  }
  if (lazily) complete_lazily(timeout);
  refuse_failed();
  synchronize();
  return true;
}

void gloo_work::complete_lazily(std::chrono::milliseconds timeout) {
  c10::intrusive_ptr<c10d::Work> transports;
  {
    const std::lock_guard lock(mutex_);
    transports = transports_;
  }
  if (transports != nullptr) {
    // Gloo's sends and receives keep the timeout that the group was made with.
    if (timeout == kNoTimeout && c10d::isP2POp(opType_)) timeout = what_.timeout;
    std::exception_ptr error;
    try {
      const below_autograd guard;
      if (!transports->wait(timeout)) error = what_.failed(std::string("it was aborted"));
    } catch (...) {
      error = what_.failed(std::current_exception());
    }
    complete(error);
  }
  // Another thread may have been the one that completes.
  std::unique_lock lock(mutex_);
  cv_.wait(lock, [&] { return completed_; });
}

void gloo_work::refuse_failed() const {
  if (const std::exception_ptr error = exception()) std::rethrow_exception(error);
}

void gloo_work::synchronize() {
  lent_.order();
}

bool gloo_work::has_ended(std::chrono::steady_clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  return cv_.wait_until(lock, deadline, [&] { return completed_ || (lazy_ && !ends_); });
}

bool gloo_work::isCompleted() {
  {
    const std::lock_guard lock(mutex_);
    if (!completed_) return false;
    if (exception_) return true;
  }
  return lent_.is_returned();
}

bool gloo_work::isSuccess() const {
  const std::lock_guard lock(mutex_);
  return completed_ && !exception_;
}

std::exception_ptr gloo_work::exception() const {
  const std::lock_guard lock(mutex_);
  return exception_;
}

int gloo_work::sourceRank() const {
  const std::lock_guard lock(mutex_);
  TORCH_CHECK(completed_ && !exception_, what_.text(), ": the source is not known before wait()");
  return source_;
}

std::vector<at::Tensor> gloo_work::result() {
  {
    // As wait() leaves it: the copies are enqueued, and the current stream is behind them.
    const std::lock_guard lock(mutex_);
    TORCH_CHECK(completed_, what_.text(), ": call wait() before result()");
  }
  TORCH_CHECK(outputs_.size() <= 1, what_.text(),
              ": result() is for one list of tensors; get_future() has the value");
  return outputs_.empty() ? std::vector<at::Tensor>() : outputs_.front();
}

void gloo_work::abort() {
  c10::intrusive_ptr<c10d::Work> transports;
  {
    const std::lock_guard lock(mutex_);
    if (completed_) return;
    transports = transports_;
  }
  fail("it was aborted");
  // Wakes a thread that waits in the transport's Work. Only sends and receives of Gloo's have it.
  if (transports != nullptr && c10d::isP2POp(opType_)) transports->abort();
}

c10::intrusive_ptr<c10::ivalue::Future> gloo_work::getFuture() {
  bool in_a_thread = false;
  {
    const std::lock_guard lock(mutex_);
    in_a_thread = !std::exchange(future_is_wanted_, true) && lazy_ && !ends_;
  }
  if (in_a_thread) complete_in_a_thread();
  return future_;
}

void gloo_work::complete_in_a_thread() {
  try {
    // Detached, since the transport may wait for a process that never comes.
    std::thread([self = c10::intrusive_ptr<gloo_work>::reclaim_copy(this)] {
      pthread_setname_np(pthread_self(), kWaiterThread);
      self->complete_lazily(kNoTimeout);
    }).detach();
  } catch (const std::system_error& none) {
    complete(
        what_.failed(std::string("there is no thread that could wait for it: ") + none.what()));
  }
}

void gloo_work::release_resources() {
  lent_.clear();
  outputs_.clear();
  transports_.reset();
  future_.reset();
}

}  // namespace outback::distributed
