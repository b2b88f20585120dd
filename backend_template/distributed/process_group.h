// The process group of the device: a c10d::Backend over another one that Python made and that takes
// the CPU's tensors, Gloo's. We write no transport: the group lends it the device's tensors
// (gloo/loans.h), in the order of the calls (issuer.h), and makes the device wait for the results
// (gloo/work.h).
#pragma once

#include <torch/csrc/distributed/c10d/Backend.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "backend_template/core/runtime/torch_version.h"
#include "backend_template/distributed/gloo/issuer.h"
#include "backend_template/distributed/gloo/lanes.h"
#include "backend_template/distributed/gloo/work.h"

namespace outback::distributed {

/// The name under which torch.distributed knows the group.
inline constexpr const char* group_kind = "outback";

/// The options of a group: torch's own, as a type that Python can tell from those of other groups.
struct group_options final : c10d::Backend::Options {
  explicit group_options(std::chrono::milliseconds timeout) : Options(group_kind, timeout) {}
#if OUTBACK_TORCH_AT_LEAST(2, 14)
  c10::intrusive_ptr<Options> clone() const override {
    return c10::make_intrusive<group_options>(*this);
  }
#endif
};

/// Makes a transport like the group's own, for a part of the group. May wait for the other ranks.
using transport_maker =
    c10::intrusive_ptr<c10d::Backend> (*)(const c10::intrusive_ptr<c10d::Store>& store, int rank,
                                          int size, const c10d::Backend::Options& options);

/// Thread-safe as Gloo's is: operations of several threads have no order. Tensors of the CPU go to
/// the transport as they are, behind what was called before.
///
/// All operations throw c10::ValueError (ValueError) for what is refused before anything is sent
/// (checks.h), and c10::DistBackendError after `abort` and in a forked child.
class process_group final : public c10d::Backend {
 public:
  /// `name` is the group's, for errors.
  static c10::intrusive_ptr<process_group> make(c10::intrusive_ptr<c10d::Backend> transport,
                                                std::string name, std::chrono::milliseconds timeout,
                                                transport_maker make_transport);
  /// For `make`.
  process_group(c10::intrusive_ptr<c10d::Backend> transport, std::string name,
                std::chrono::milliseconds timeout, transport_maker make_transport);
  /// Waits until all that was called has begun, as `shutdown` does, and then for the end of the
  /// transport, which waits for its operations. After `abort`, and in a thread of the transport's,
  /// another thread does the latter.
  ~process_group() override;
  /// The same when the last owner goes: a weak reference may keep the object itself for long.
  void release_resources() override;

  using work = c10::intrusive_ptr<c10d::Work>;
  using tensors = std::vector<at::Tensor>;
  using tensor_lists = std::vector<tensors>;

  const std::string getBackendName() const override { return group_kind; }
  c10::intrusive_ptr<Options> getBackendOptions() override { return options_; }
  bool supportsSplitting() const override { return true; }
  /// Makes a group of some ranks over a transport of its own; null if this process is not among
  /// them. Of `options`, which may be those of another kind of group, the names and the timeout
  /// count.
  c10::intrusive_ptr<Backend> split(const c10::intrusive_ptr<c10d::Store>& store,
                                    const std::vector<int>& ranks,
                                    const c10::intrusive_ptr<Options>& options) override;
  void setTimeout(std::chrono::milliseconds timeout) override;
  void eagerConnectSingleDevice(at::Device device) override { setBoundDeviceId(device); }
  void setSequenceNumberForGroup() override {}
  /// That of the last operation that was called. Waits until it has begun: all processes have to
  /// answer the same, or TORCH_DISTRIBUTED_DEBUG=DETAIL takes it for a fault.
  uint64_t getSequenceNumberForGroup() override;
  c10d::ErrorType getError() override;

  /// Collects the operations that follow, which begin at once; `endCoalescing` returns a Work for
  /// all of them.
  void startCoalescing() override;
  work endCoalescing() override;

  /// Ends all operations that are not complete with an error, and refuses later ones. May be called
  /// by another thread than the one that waits. The transport's operations go on until its timeout.
  void abort() override;
  /// Waits until all that was called has begun, and refuses later operations.
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

  /// Ends all groups, together with the process: waits for their operations, but not beyond
  /// `deadline`, and not for those that end only if somebody waits for them. A group with
  /// operations that are not over then is never destroyed.
  static void leave_all(std::chrono::steady_clock::time_point deadline) noexcept;

  /// Returns the transport, for those who ask for more than c10d does.
  const c10::intrusive_ptr<c10d::Backend>& transport() const { return transport_; }

 private:
  void end() noexcept;
  void end_in_a_thread() noexcept;

  // What calls of the transport return.
  using on_transport = device_work::start;

  // Every operation begins with it: throws if the group is of no use any more.
  operation named(const char* name, c10d::OpType type) const;
  loans loans_of(const at::Tensor& any) { return {lanes_, any.device()}; }
  work run(operation what, loans lent, tensor_lists outputs, on_transport call);
  work reduce_all(operation what, const tensors& all, const c10d::AllreduceOptions& options);
  work reduce_pieces(const operation& what, const tensors& all, const tensors& pieces,
                     const c10d::AllreduceOptions& options);
  work on_cpu(const on_transport& call);
  void keep(const c10::intrusive_ptr<pending_work>& made);
  void check_usable(const operation& what) const;
  void leave(std::chrono::steady_clock::time_point deadline) noexcept;

  c10::intrusive_ptr<c10d::Backend> transport_;
  const c10::intrusive_ptr<group_options> options_;
  const transport_maker make_transport_;
  const int process_;                           // that made it
  std::atomic<const char*> unusable_{nullptr};  // why, after abort or shutdown
  std::atomic<bool> aborted_{false};
  lanes_of_devices lanes_;
  issuer issuer_;

  std::mutex mutex_;
  std::vector<c10::weak_intrusive_ptr<pending_work>> pending_;  // those that abort ends
  std::optional<std::vector<work>> coalesced_;                  // since startCoalescing
};

}  // namespace outback::distributed
