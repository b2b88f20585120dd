// A group's transport over NCCL, for a device with a CUDA twin (core/twin/twin.h). The transport
// lends NCCL the device's tensors as CUDA tensors (loans.h). NCCL itself handles the order of the
// operations, its stream, the watchdog, timeouts and the shutdown.
#pragma once

#include <memory>
#include <vector>

#include "backend_template/distributed/transport.h"

namespace outback::distributed {

/// Returns NCCL's options for a part of a group: the options of `nccl`, but with the timeout and
/// the names in `options`.
using nccl_options_maker = c10::intrusive_ptr<c10d::Backend::Options> (*)(
    const c10::intrusive_ptr<c10d::Backend>& nccl, const c10d::Backend::Options& options);

class nccl_transport final : public transport {
 public:
  nccl_transport(c10::intrusive_ptr<c10d::Backend> nccl, nccl_options_maker make_options);
  /// Ends NCCL, which waits for its threads.
  ~nccl_transport() override;

  void check(const collective& wanted, c10::Device device) const override;
  work begin(collective wanted, c10::Device device) override;
  work begin_on_cpu(const collective& wanted) override;
  void monitored_barrier(const operation& what, const c10d::BarrierOptions& options,
                         bool all_ranks) override;
  bool supports_coalescing() const override { return nccl_->supportsCoalescing(); }
  /// NCCL runs the operations up to end_coalescing as one.
  void start_coalescing() override { nccl_->startCoalescing(); }
  work end_coalescing(operation what, std::optional<c10::Device> bound) override;
  /// All ranks must call it.
  std::unique_ptr<transport> split(const c10::intrusive_ptr<c10d::Store>& store,
                                   const std::vector<int>& ranks,
                                   const c10d::Backend::Options& options) override;
  void connect(c10::Device device) override;
  void set_timeout(std::chrono::milliseconds timeout) override { nccl_->setTimeout(timeout); }
  void begin_sequence() override { nccl_->setSequenceNumberForGroup(); }
  uint64_t sequence_number() override { return nccl_->getSequenceNumberForGroup(); }
  c10d::ErrorType error() const override { return nccl_->getError(); }
  void abort() override;
  void shutdown() override;
  c10::intrusive_ptr<c10d::Backend> of_torch() const override { return nccl_; }

 private:
  c10::intrusive_ptr<c10d::Backend> nccl_;
  const nccl_options_maker make_options_;
  const int process_;  // the process that made this object
};

}  // namespace outback::distributed
