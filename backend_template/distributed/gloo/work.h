// The c10d::Work that an operation of the group returns, with a future on the device.
#pragma once

#include <ATen/core/ivalue.h>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include <functional>
#include <vector>

#include "backend_template/core/timeline/timeline.h"
#include "backend_template/distributed/gloo/loans.h"
#include "backend_template/distributed/gloo/pending_work.h"
#include "backend_template/distributed/operation.h"

namespace outback::distributed {

/// The transport's operation on the loans, followed by the copies back to the device's tensors.
///
/// The Work is complete when the transport's operation is complete and the copies back to the
/// device are enqueued. Most operations of the transport report their completion. Sends, receives
/// and some other operations of Gloo complete only in a call that waits for them; then this Work is
/// "lazy", and completes in its wait() too. If the future of a lazy Work is requested, a thread
/// waits for the Work.
///
/// Thread-safe. Errors are c10d::DistBackendError with the operation's name, rank, group and time.
class gloo_work final : public pending_work {
 public:
  /// Calls the transport with the loans, and returns the transport's Work.
  using start = std::function<c10::intrusive_ptr<c10d::Work>()>;

  /// `outputs` are the device's tensors for the result, and the future's value: a list, or a list
  /// of lists if `outputs` has several.
  gloo_work(operation what, loans lent, std::vector<std::vector<at::Tensor>> outputs);

  /// Begin the operation. Call exactly one of the two functions, once. `begin` waits for the device
  /// and does not throw: the Work keeps the error. `begin_here` does not wait; call it only if
  /// `may_begin_here` is true. It throws what the transport throws.
  void begin(const start& call) noexcept;
  void begin_here(const start& call);
  bool may_begin_here() const { return lent_.is_fetched(); }
  void fetch() { lent_.fetch(); }

  /// Ends the Work with an error now. The transport's operation goes on, but no thread waits for
  /// it. Does nothing if the Work is complete.
  void fail(const std::string& why) noexcept;

  bool has_ended(std::chrono::steady_clock::time_point deadline) override;

  bool isCompleted() override;
  bool isSuccess() const override;
  std::exception_ptr exception() const override;
  int sourceRank() const override;
  std::vector<at::Tensor> result() override;
  /// Makes the calling thread's current stream wait for the result, whose copies must be enqueued.
  void synchronize() override;
  /// Waits until the result's copies are enqueued, then does what `synchronize` does. If `timeout`
  /// passes, this call throws; if the Work is lazy, it also completes with that error.
  bool wait(std::chrono::milliseconds timeout) override;
  void abort() override;
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;
  /// intrusive_ptr calls it when only the group's weak references are left. Drops the tensors, so
  /// that weak references keep no memory.
  void release_resources() override;

 private:
  void follow(c10::intrusive_ptr<c10d::Work> transports);
  void complete(std::exception_ptr error) noexcept;
  void complete_off_the_queue(std::exception_ptr error) noexcept;
  void complete_lazily(std::chrono::milliseconds timeout);
  void complete_in_a_thread();
  void refuse_failed() const;
  const operation what_;
  loans lent_;
  std::vector<std::vector<at::Tensor>> outputs_;
  c10::intrusive_ptr<c10::ivalue::Future> future_;
  core::begun_collective recorded_ = core::call_collective();  // for a profile

  // Guarded by mutex_, as completed_ and exception_ are.
  c10::intrusive_ptr<c10d::Work> transports_;  // null before the begin and after the end
  int source_ = -1;
  bool lazy_ = false;
  bool ends_ = false;  // a thread is completing the Work
  bool future_is_wanted_ = false;
  bool was_queued_ = false;  // only the thread that begins the Work uses it
};

}  // namespace outback::distributed
