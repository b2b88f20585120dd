// What a process group communicates through.
#pragma once

#include <torch/csrc/distributed/c10d/Backend.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "backend_template/distributed/collective.h"

namespace outback::distributed {

/// Belongs to one group. Thread-safe: operations of several threads have no order. The group has
/// checked what every transport refuses (checks.h), and begins nothing in a forked child, where the
/// transport has none of its threads.
class transport {
 public:
  transport(int rank, int size) : rank_(rank), size_(size) {}
  /// Waits until what was called has begun, and for what else may use this object.
  virtual ~transport() = default;
  transport(const transport&) = delete;
  transport& operator=(const transport&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }

  /// Throws c10::ValueError for tensors of `device`, one of ours, or a reduction that it cannot
  /// serve, and c10::NotImplementedError for an operation that it does not have.
  virtual void check(const collective& wanted, c10::Device device) const = 0;

  /// Begins the operation on tensors of `device`, behind what the current stream there has now.
  /// Returns a Work, whose wait() makes the current stream wait for the result. Null if there is
  /// nothing to wait for.
  virtual work begin(collective wanted, c10::Device device) = 0;
  /// The same for tensors of the CPU, and for a barrier before the backend has started. May throw
  /// c10::ValueError: a transport need not take them.
  virtual work begin_on_cpu(const collective& wanted) = 0;
  /// Waits for all ranks, and throws an error that names those that did not come.
  virtual void monitored_barrier(const operation& what, const c10d::BarrierOptions& options,
                                 bool all_ranks) = 0;

  /// Collects the operations that follow; `end_coalescing` returns a Work for all of them. `bound`
  /// is the device that the group is bound to.
  virtual bool supports_coalescing() const { return false; }  // as torch.distributed asks for it
  virtual void start_coalescing() = 0;
  virtual work end_coalescing(operation what, std::optional<c10::Device> bound) = 0;

  /// Makes one for a part of the group; null if this process is not among `ranks`. Of `options`,
  /// which may be those of another kind of group, the names and the timeout count. May wait for the
  /// other ranks.
  virtual std::unique_ptr<transport> split(const c10::intrusive_ptr<c10d::Store>& store,
                                           const std::vector<int>& ranks,
                                           const c10d::Backend::Options& options) = 0;
  /// Connects the ranks now, for operations on `device`.
  virtual void connect(c10::Device /*device*/) {}
  virtual void set_timeout(std::chrono::milliseconds timeout) = 0;
  /// The numbers of the operations begin.
  virtual void begin_sequence() {}
  /// Returns that of the last operation that was called. All processes have to answer the same, or
  /// TORCH_DISTRIBUTED_DEBUG=DETAIL takes it for a fault.
  virtual uint64_t sequence_number() = 0;
  virtual c10d::ErrorType error() const = 0;

  /// Ends all operations that are not complete with an error. May be called by another thread than
  /// the one that waits.
  virtual void abort() = 0;
  /// Waits until all that was called has begun.
  virtual void shutdown() = 0;
  /// Called before the process ends. Returns true if no operation is pending, or if those that are
  /// end without this object; waits for that, but not beyond `deadline`. False: the object must
  /// never be destroyed.
  virtual bool leave(std::chrono::steady_clock::time_point /*deadline*/) noexcept { return true; }

  /// Returns torch's object that it consists of, for those who ask for more than a group has; null
  /// if there is none.
  virtual c10::intrusive_ptr<c10d::Backend> of_torch() const { return nullptr; }

 private:
  const int rank_, size_;
};

}  // namespace outback::distributed
