// What an operation of the group returns: c10d's Work, with a future of the device's.
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

/// The transport's operation on the loans, and what becomes of the device's tensors after it.
///
/// It is complete when the transport is and the copies back to the device are enqueued. The
/// transport says so for most operations. Sends, receives and some others of Gloo's are ended by
/// whoever waits for them, and so is this Work then: it is "lazy". If somebody asks for the future
/// of a lazy Work, a thread waits for it.
///
/// Thread-safe. Errors are c10d::DistBackendError with the operation's name, rank, group and time.
class gloo_work final : public pending_work {
 public:
  /// Calls the transport, with the loans, and returns its Work.
  using start = std::function<c10::intrusive_ptr<c10d::Work>()>;

  /// `outputs` are the device's tensors that hold the result: the future's value, a list, or a list
  /// of lists if there are several.
  gloo_work(operation what, loans lent, std::vector<std::vector<at::Tensor>> outputs);

  /// Begin the operation. Call one of them, once. `begin` waits for the device and throws nothing:
  /// an error is the Work's. `begin_here` does not wait, so `may_begin_here` has to be true, and
  /// throws what the transport refuses.
  void begin(const start& call) noexcept;
  void begin_here(const start& call);
  bool may_begin_here() const { return lent_.is_fetched(); }
  void fetch() { lent_.fetch(); }

  /// Ends the Work with an error now; the transport's operation goes on, and nobody waits for it.
  /// Does nothing if the Work is complete.
  void fail(const std::string& why) noexcept;

  bool has_ended(std::chrono::steady_clock::time_point deadline) override;

  bool isCompleted() override;
  bool isSuccess() const override;
  std::exception_ptr exception() const override;
  int sourceRank() const override;
  std::vector<at::Tensor> result() override;
  /// Lets the calling thread's current stream wait for the result, which has been enqueued.
  void synchronize() override;
  /// Waits until the result is enqueued, and then does what `synchronize` does. A `timeout` that
  /// passes is an error of this call; of a lazy Work it is the Work's.
  bool wait(std::chrono::milliseconds timeout) override;
  void abort() override;
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;
  /// For intrusive_ptr, when only weak references are left, which the group has: the memory of the
  /// tensors does not wait for these.
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
  c10::intrusive_ptr<c10d::Work> transports_;  // null until it is begun, and once it is complete
  int source_ = -1;
  bool lazy_ = false;
  bool ends_ = false;  // somebody completes it
  bool future_is_wanted_ = false;
  bool was_queued_ = false;  // written and read by the thread that begins it
};

}  // namespace outback::distributed
