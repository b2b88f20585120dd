// A group's transport over Gloo, which takes CPU tensors and knows no streams. The transport lends
// Gloo the device's tensors (loans.h), in the order of the calls (issuer.h), and makes the device
// wait for the results (work.h).
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "backend_template/distributed/gloo/issuer.h"
#include "backend_template/distributed/gloo/lanes.h"
#include "backend_template/distributed/gloo/loans.h"
#include "backend_template/distributed/gloo/pending_work.h"
#include "backend_template/distributed/transport.h"

namespace outback::distributed {

/// Makes a ProcessGroupGloo for a part of a group. May wait for the other ranks.
using gloo_maker =
    c10::intrusive_ptr<c10d::Backend> (*)(const c10::intrusive_ptr<c10d::Store>& store, int rank,
                                          int size, const c10d::Backend::Options& options);

/// CPU tensors go to Gloo unchanged, after all operations that were called earlier.
class gloo_transport final : public transport {
 public:
  gloo_transport(c10::intrusive_ptr<c10d::Backend> gloo, gloo_maker make_gloo);
  /// Waits until all called operations have begun, then ends Gloo, which waits for its operations.
  /// After `abort`, and in a thread of Gloo, another thread ends Gloo.
  ~gloo_transport() override;

  void check(const collective& wanted, c10::Device device) const override;
  work begin(collective wanted, c10::Device device) override;
  work begin_on_cpu(const collective& wanted) override;
  void monitored_barrier(const operation& what, const c10d::BarrierOptions& options,
                         bool all_ranks) override;
  /// Later operations still begin at once.
  void start_coalescing() override;
  work end_coalescing(operation what, std::optional<c10::Device> bound) override;
  std::unique_ptr<transport> split(const c10::intrusive_ptr<c10d::Store>& store,
                                   const std::vector<int>& ranks,
                                   const c10d::Backend::Options& options) override;
  void set_timeout(std::chrono::milliseconds timeout) override { gloo_->setTimeout(timeout); }
  /// Waits until all called operations have begun.
  uint64_t sequence_number() override;
  c10d::ErrorType error() const override;
  /// Gloo's own operations go on until Gloo's timeout.
  void abort() override;
  void shutdown() override;
  /// Does not wait for operations that complete only in a wait().
  bool leave(std::chrono::steady_clock::time_point deadline) noexcept override;
  c10::intrusive_ptr<c10d::Backend> of_torch() const override { return gloo_; }

 private:
  struct lent_collective {
    loans of;
    lent_arguments with;
  };

  void end_in_a_thread() noexcept;
  lent_collective lend(const collective& wanted, c10::Device device);
  work begin_lent(lent_collective lent, const collective& wanted);
  work begin_pieces(const collective& wanted, const tensors& pieces);
  work begin_sparse(const collective& wanted);
  void keep(const c10::intrusive_ptr<pending_work>& made);

  c10::intrusive_ptr<c10d::Backend> gloo_;
  const gloo_maker make_gloo_;
  const int process_;  // the process that made this object
  std::atomic<bool> aborted_{false};
  lanes_of_devices lanes_;
  issuer issuer_;

  std::mutex mutex_;
  std::vector<c10::weak_intrusive_ptr<pending_work>> pending_;  // abort ends them
  std::optional<std::vector<work>> coalesced_;                  // since start_coalescing
};

}  // namespace outback::distributed
