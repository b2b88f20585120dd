// all_reduce of sparse tensors. torch registers a kernel of c10d::allreduce_ for its own sparse
// devices only, so that one is registered for ours; the reduction runs over copies on the CPU.
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <torch/library.h>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include <atomic>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/runtime/format.h"
#include "backend_template/core/runtime/interpreter_lock.h"
#include "backend_template/distributed/checks.h"
#include "backend_template/distributed/gloo/pending_work.h"
#include "backend_template/distributed/process_group.h"
#include "backend_template/distributed/registrations.h"

namespace outback::distributed {
namespace {

using reduced = std::tuple<std::vector<at::Tensor>, c10::intrusive_ptr<c10d::Work>>;

reduced allreduce(at::TensorList all, const c10::intrusive_ptr<c10d::ProcessGroup>& group,
                  const c10::intrusive_ptr<c10d::ReduceOp>& reduction,
                  const std::optional<at::Tensor>& indices, bool async_op, int64_t timeout) {
  std::vector<at::Tensor> tensors = all.vec();
  c10d::AllreduceOptions options;
  options.reduceOp = *reduction;
  options.timeout = std::chrono::milliseconds(timeout);
  options.asyncOp = async_op;
  options.sparseIndices = indices;
  auto work = group->getBackend(core::device_type)->allreduce_sparse(tensors, options);
  return {std::move(tensors), std::move(work)};
}

// Copies the result to the device as soon as the transport has it, in the transport's thread, since
// DistributedDataParallel waits for the future and not for the Work.
class sparse_work final : public pending_work {
 public:
  sparse_work(operation what, c10::intrusive_ptr<c10d::Work> transports, at::Tensor host,
              at::Tensor device)
      : pending_work(what.rank, what.type),
        what_(std::move(what)),
        transports_(std::move(transports)),
        host_(std::move(host)),
        device_(std::move(device)),
        future_(
            c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()),
                                                     std::vector<c10::Device>{device_.device()})) {}

  void follow() {
    auto self = c10::intrusive_ptr<sparse_work>::reclaim_copy(this);
    transports_->getFuture()->addCallback(
        [self = std::move(self)](c10::ivalue::Future& ended) {
          self->complete(ended.hasError() ? self->what_.failed(ended.exception_ptr()) : nullptr);
        },
        /*uses_future=*/false);
  }

  bool wait(std::chrono::milliseconds timeout) override {
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
  bool has_ended(std::chrono::steady_clock::time_point deadline) override {
    std::unique_lock lock(mutex_);
    return cv_.wait_until(lock, deadline, [&] { return completed_; });
  }
  void abort() override { complete(what_.failed(std::string("it was aborted"))); }
  // The group's weak references keep no memory, as with device_work.
  void release_resources() override {
    transports_.reset();
    host_.reset();
    device_.reset();
    future_.reset();
  }
  std::vector<at::Tensor> result() override { return {device_}; }
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override { return future_; }

 private:
  void complete(std::exception_ptr error) noexcept {
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

  const operation what_;
  c10::intrusive_ptr<c10d::Work> transports_;
  at::Tensor host_, device_;
  c10::intrusive_ptr<c10::ivalue::Future> future_;
  std::atomic<bool> ends_{false};  // the transport's answer or an abort completes it
};

}  // namespace

process_group::work process_group::allreduce_sparse(tensors& all,
                                                    const c10d::AllreduceOptions& options) {
  operation what = named("all_reduce of sparse tensors", c10d::OpType::_ALLREDUCE_SPARSE);
  if (are_on_cpu(what, all, getBoundDeviceId()))
    return on_cpu([&] { return transport_->allreduce(all, options); });
  TORCH_CHECK_VALUE(all.size() == 1 && all[0].is_sparse(), what.text(),
                    ": expected one tensor of the layout torch.sparse_coo");
  TORCH_CHECK_VALUE(options.reduceOp == c10d::ReduceOp::SUM, what.text(),
                    ": Gloo has ReduceOp.SUM only for sparse tensors");
  check_reduction(what, options.reduceOp, all[0].scalar_type());
  tensors hosts{all[0].cpu()};
  issuer_.wait_until_idle();
  auto made = c10::make_intrusive<sparse_work>(what, transport_->allreduce(hosts, options),
                                               hosts[0], all[0]);
  made->follow();
  keep(made);
  return made;
}

void register_sparse_kernels() {
  // Leaked: a torch::Library takes its kernels back at its end.
  auto& kernels = *new torch::Library(torch::Library::IMPL, "c10d",
                                      c10::DispatchKey::SparsePrivateUse1, __FILE__, __LINE__);
  kernels.impl("allreduce_", &allreduce);
}

}  // namespace outback::distributed
