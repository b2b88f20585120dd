// The interface through which a process group communicates.
#pragma once

#include <torch/csrc/distributed/c10d/Backend.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "backend_template/distributed/collective.h"

namespace outback::distributed {

/// Belongs to one group. Thread-safe, but operations of several threads have no order. The group
/// makes the checks of checks.h first, and begins nothing in a forked child, which has no threads
/// of the transport.
class transport {
 public:
  transport(int rank, int size) : rank_(rank), size_(size) {}
  /// Waits until all called operations have begun, and for all other users of this object.
  virtual ~transport() = default;
  transport(const transport&) = delete;
  transport& operator=(const transport&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }

  /// Throws c10::ValueError if the transport cannot serve tensors of `device`, a device of this
  /// backend, or the reduction, and c10::NotImplementedError if it does not have the operation.
  virtual void check(const collective& wanted, c10::Device device) const = 0;

  /// Begins the operation on tensors of `device`, after all work that is on the current stream
  /// there. Returns a Work, whose wait() makes the current stream wait for the result, or null if
  /// no wait is needed.
  virtual work begin(collective wanted, c10::Device device) = 0;
  /// Does the same for CPU tensors, and for a barrier before the backend has started. Throws
  /// c10::ValueError if the transport does not take CPU tensors.
  virtual work begin_on_cpu(const collective& wanted) = 0;
  /// Waits for all ranks, and throws an error that names the ranks that did not call it in time.
  virtual void monitored_barrier(const operation& what, const c10d::BarrierOptions& options,
                                 bool all_ranks) = 0;

  /// `start_coalescing` begins to collect operations; `end_coalescing` returns a Work for all of
  /// them. `bound` is the device to which the group is bound.
  virtual bool supports_coalescing() const { return false; }  // torch.distributed's query
  virtual void start_coalescing() = 0;
  virtual work end_coalescing(operation what, std::optional<c10::Device> bound) = 0;

  /// Returns a transport for a part of the group, or null if this process is not among `ranks`.
  /// Uses only the names and the timeout of `options`, which may belong to another kind of group.
  /// May wait for the other ranks.
  virtual std::unique_ptr<transport> split(const c10::intrusive_ptr<c10d::Store>& store,
                                           const std::vector<int>& ranks,
                                           const c10d::Backend::Options& options) = 0;
  /// Connects the ranks now, for operations on `device`.
  virtual void connect(c10::Device /*device*/) {}
  virtual void set_timeout(std::chrono::milliseconds timeout) = 0;
  /// Starts to number the operations.
  virtual void begin_sequence() {}
  /// Returns the number of the last operation that was called. All processes must return the same
  /// number, or TORCH_DISTRIBUTED_DEBUG=DETAIL reports an error.
  virtual uint64_t sequence_number() = 0;
  virtual c10d::ErrorType error() const = 0;

  /// Ends all incomplete operations with an error. Another thread than the waiting one may call it.
  virtual void abort() = 0;
  /// Waits until all called operations have begun.
  virtual void shutdown() = 0;
  /// Called before the process ends. Waits until no pending operation needs this object, but not
  /// beyond `deadline`. Returns false if `deadline` passed first; then the object must never be
  /// destroyed.
  virtual bool leave(std::chrono::steady_clock::time_point /*deadline*/) noexcept { return true; }

  /// Returns the object of torch that this transport wraps, for callers that need more than a group
  /// offers, or null.
  virtual c10::intrusive_ptr<c10d::Backend> of_torch() const { return nullptr; }

 private:
  const int rank_, size_;
};

}  // namespace outback::distributed
