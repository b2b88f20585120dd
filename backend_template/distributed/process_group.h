// The process group of the device: a c10d::Backend over a transport. It checks the arguments
// (checks.h), and passes each operation to the transport as one value (collective.h).
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "backend_template/core/runtime/torch_version.h"
#include "backend_template/distributed/transport.h"

namespace outback::distributed {

/// The name under which torch.distributed knows the group.
inline constexpr const char* group_kind = "outback";

/// The options of a group: torch's own options in a separate type, which Python can distinguish
/// from other groups' options.
struct group_options final : c10d::Backend::Options {
  explicit group_options(std::chrono::milliseconds timeout) : Options(group_kind, timeout) {}
#if OUTBACK_TORCH_AT_LEAST(2, 14)
  c10::intrusive_ptr<Options> clone() const override {
    return c10::make_intrusive<group_options>(*this);
  }
#endif
};

/// As thread-safe as its transport.
///
/// All operations throw c10::ValueError (ValueError) for arguments that the checks refuse before
/// anything is sent, c10::NotImplementedError for operations that the transport does not have, and
/// c10::DistBackendError after `abort` and `shutdown`, in a forked child, and for failures of the
/// transport.
class process_group final : public c10d::Backend {
 public:
  /// `name` is the group's name in error texts.
  static c10::intrusive_ptr<process_group> make(std::unique_ptr<transport> through,
                                                std::string name,
                                                std::chrono::milliseconds timeout);
  /// For `make`.
  process_group(std::unique_ptr<transport> through, std::string name,
                std::chrono::milliseconds timeout);
  /// Ends the transport when the last owner is gone, since weak references may keep the object
  /// itself longer.
  void release_resources() override { transport_.reset(); }

  const std::string getBackendName() const override { return group_kind; }
  c10::intrusive_ptr<Options> getBackendOptions() override { return options_; }
  bool supportsSplitting() const override { return true; }
  bool supportsCoalescing() const override { return transport_->supports_coalescing(); }
  /// Returns a group of the given ranks, with its own transport, or null if this process is not
  /// among them.
  c10::intrusive_ptr<Backend> split(const c10::intrusive_ptr<c10d::Store>& store,
                                    const std::vector<int>& ranks,
                                    const c10::intrusive_ptr<Options>& options) override;
  void setTimeout(std::chrono::milliseconds timeout) override;
  /// Binds the group to `device`.
  void eagerConnectSingleDevice(at::Device device) override;
  void setSequenceNumberForGroup() override { transport_->begin_sequence(); }
  uint64_t getSequenceNumberForGroup() override { return transport_->sequence_number(); }
  c10d::ErrorType getError() override { return transport_->error(); }
  void registerOnCompletionHook(
      std::function<void(std::shared_ptr<c10d::WorkInfo>)>&& hook) override {
    torchs().registerOnCompletionHook(std::move(hook));
  }
  void waitForPendingWorks() override { torchs().waitForPendingWorks(); }
  void enableCollectivesTiming() override { torchs().enableCollectivesTiming(); }

  void startCoalescing() override { transport_->start_coalescing(); }
  work endCoalescing() override;
  /// After `abort` or `shutdown`, all operations throw.
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
#if OUTBACK_TORCH_AT_LEAST(2, 14)
  work gather_single(at::Tensor& output, at::Tensor& input,
                     const c10d::GatherOptions& options) override;
#endif
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

  /// Ends all groups before the process ends (transport.h, `leave`). A group with operations that
  /// are not over at `deadline` is never destroyed. Returns true if this process has had any group.
  static bool leave_all(std::chrono::steady_clock::time_point deadline) noexcept;

  /// Returns the object of torch through which the group communicates, or null.
  c10::intrusive_ptr<c10d::Backend> of_torch() const { return transport_->of_torch(); }

 private:
  // Every operation calls it first. Throws after abort or shutdown, and in a forked child.
  operation named(const char* name, c10d::OpType type) const;
  work run(collective wanted);
  // For functions that only torch's own object has.
  c10d::Backend& torchs() const;

  std::unique_ptr<transport> transport_;
  const c10::intrusive_ptr<group_options> options_;
  const int process_;                           // the process that made this object
  std::atomic<const char*> unusable_{nullptr};  // the reason, after abort or shutdown
};

}  // namespace outback::distributed
