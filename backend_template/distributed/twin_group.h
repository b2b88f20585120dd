// The process group of a device whose memory is a twin's (core/twin/twin.h), CUDA's: a
// c10d::Backend over NCCL's, which Python made. It lends NCCL the device's tensors as CUDA's
// (nccl/loans.h). All else is NCCL's: the order of the operations, its stream, the watchdog,
// timeouts, the end.
#pragma once

#include <torch/csrc/distributed/c10d/Backend.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend_template/distributed/checks.h"
#include "backend_template/distributed/process_group.h"

namespace outback::distributed {

/// Returns NCCL's options for a part of a group: the transport's own, with the timeout and the
/// names of `options`.
using twin_options_maker = c10::intrusive_ptr<c10d::Backend::Options> (*)(
    const c10::intrusive_ptr<c10d::Backend>& transport, const c10d::Backend::Options& options);

/// Thread-safe as NCCL's is.
///
/// All operations throw c10::ValueError (ValueError) for what is refused before anything is sent
/// (nccl/checks.h), c10::NotImplementedError for what NCCL does not have, and c10::DistBackendError
/// for what NCCL reports.
class twin_group final : public c10d::Backend {
 public:
  /// `name` is the group's, for errors.
  twin_group(c10::intrusive_ptr<c10d::Backend> transport, std::string name,
             std::chrono::milliseconds timeout, twin_options_maker make_options);
  /// Ends the transport, which waits for its threads.
  ~twin_group() override;
  /// The same when the last owner goes: a weak reference may keep the object itself for long.
  void release_resources() override;

  using work = c10::intrusive_ptr<c10d::Work>;
  using tensors = std::vector<at::Tensor>;
  using tensor_lists = std::vector<tensors>;

  const std::string getBackendName() const override { return group_kind; }
  c10::intrusive_ptr<Options> getBackendOptions() override { return options_; }
  bool supportsSplitting() const override { return transport_->supportsSplitting(); }
  bool supportsCoalescing() const override { return transport_->supportsCoalescing(); }
  /// All ranks call it. Null if this process is not among `ranks`. Of `options`, which may be those
  /// of another kind of group, the names and the timeout count.
  c10::intrusive_ptr<Backend> split(const c10::intrusive_ptr<c10d::Store>& store,
                                    const std::vector<int>& ranks,
                                    const c10::intrusive_ptr<Options>& options) override;
  void setTimeout(std::chrono::milliseconds timeout) override;
  /// Connects the ranks now, on the twin of `device`, and binds the group to it.
  void eagerConnectSingleDevice(at::Device device) override;
  void setSequenceNumberForGroup() override { transport_->setSequenceNumberForGroup(); }
  uint64_t getSequenceNumberForGroup() override { return transport_->getSequenceNumberForGroup(); }
  c10d::ErrorType getError() override { return transport_->getError(); }
  void registerOnCompletionHook(
      std::function<void(std::shared_ptr<c10d::WorkInfo>)>&& hook) override {
    transport_->registerOnCompletionHook(std::move(hook));
  }
  void waitForPendingWorks() override { transport_->waitForPendingWorks(); }
  void enableCollectivesTiming() override { transport_->enableCollectivesTiming(); }

  /// The operations between them go to NCCL as one.
  void startCoalescing() override { transport_->startCoalescing(); }
  work endCoalescing() override;

  void abort() override;
  void shutdown() override;

  work broadcast(tensors& all, const c10d::BroadcastOptions& options) override;
  work allreduce(tensors& all, const c10d::AllreduceOptions& options) override;
  work allreduce_sparse(tensors& all, const c10d::AllreduceOptions& options) override;
  work allreduce_coalesced(tensors& all, const c10d::AllreduceCoalescedOptions& options) override;
  work reduce(tensors& all, const c10d::ReduceOptions& options) override;
  work allgather(tensor_lists& outputs, tensors& inputs,
                 const c10d::AllgatherOptions& options) override;
  work _allgather_base(at::Tensor& output, at::Tensor& input,
                       const c10d::AllgatherOptions& options) override;
  work allgather_coalesced(tensor_lists& outputs, tensors& inputs,
                           const c10d::AllgatherOptions& options) override;
  work allgather_into_tensor_coalesced(tensors& outputs, tensors& inputs,
                                       const c10d::AllgatherOptions& options) override;
  work gather(tensor_lists& outputs, tensors& inputs, const c10d::GatherOptions& options) override;
  work scatter(tensors& outputs, tensor_lists& inputs,
               const c10d::ScatterOptions& options) override;
  work reduce_scatter(tensors& outputs, tensor_lists& inputs,
                      const c10d::ReduceScatterOptions& options) override;
  work _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                            const c10d::ReduceScatterOptions& options) override;
  work reduce_scatter_tensor_coalesced(tensors& outputs, tensors& inputs,
                                       const c10d::ReduceScatterOptions& options) override;
  work alltoall(tensors& outputs, tensors& inputs, const c10d::AllToAllOptions& options) override;
  work alltoall_base(at::Tensor& output, at::Tensor& input, std::vector<int64_t>& output_splits,
                     std::vector<int64_t>& input_splits,
                     const c10d::AllToAllOptions& options) override;
  work send(tensors& all, int to, int tag) override;
  work recv(tensors& all, int from, int tag) override;
  work recvAnysource(tensors& all, int tag) override;
  work barrier(const c10d::BarrierOptions& options) override;
  void monitoredBarrier(const c10d::BarrierOptions& options, bool all_ranks) override;

  /// Returns the transport, for those who ask for more than c10d does.
  const c10::intrusive_ptr<c10d::Backend>& transport() const { return transport_; }

 private:
  void end() noexcept;
  // Every operation begins with it: throws in a forked child.
  operation named(const char* name, c10d::OpType type) const;
  void check(const operation& what, const tensors& all, layout wanted) const;
  // Null where NCCL returns nothing: the operation is over, or its caller does not ask.
  static work wrapped(operation what, work theirs, c10::Device device, tensor_lists outputs);
  template <class Call>
  work run(operation what, c10::Device device, tensor_lists outputs, const Call& call);

  c10::intrusive_ptr<c10d::Backend> transport_;
  const c10::intrusive_ptr<group_options> options_;
  const twin_options_maker make_options_;
  const int process_;  // that made it
};

}  // namespace outback::distributed
