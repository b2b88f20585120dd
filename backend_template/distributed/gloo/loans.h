// The tensors of one operation in the form that Gloo takes, which is CPU tensors only. Where the
// CPU can address the device's memory, the CPU tensors share it; elsewhere they are copies in
// pinned memory.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/core/Stream.h>

#include <memory>
#include <optional>
#include <vector>

#include "backend_template/core/races/race_finder.h"
#include "backend_template/core/streams/event.h"
#include "backend_template/distributed/gloo/lanes.h"
#include "backend_template/distributed/lent_tensor.h"

namespace outback::distributed {

/// All tensors that one operation lends. Call the members in this order: `lend` and `fetch`, on the
/// caller's thread; `wait_until_fetched` before the transport reads; `give_back` when the transport
/// is done; `order` on each thread that waits for the result. Calls must not overlap, except for
/// calls of `order`. They throw what core::check throws for a failed slot.
///
/// The memory of the tensors lives as long as this object or the transport holds them. The caching
/// allocator knows the streams that copy.
class loans {
 public:
  /// For tensors on `device`, a device of this backend. The copies are ordered with its current
  /// stream. Throws c10::Error (RuntimeError) while that stream is captured.
  loans(lanes_of_devices& all, c10::Device device);

  /// Returns CPU tensors for the tensors of `wanted`, which are on `device`.
  lent_arguments lend(const collective& wanted);

  /// Enqueues the copies of all tensors that the operation reads. Orders the operation behind the
  /// current stream, even if no tensor is lent.
  void fetch();
  /// Returns true if `wait_until_fetched` would not wait. Asks the runtime at most once.
  bool is_fetched() const;
  void wait_until_fetched() const;

  /// Enqueues the copies of all tensors that the operation wrote, and makes `result_stream` wait
  /// for all work of this object. Call it once. It ends the loans.
  void give_back();
  /// Makes the calling thread's current stream wait for the copies of `give_back`. The host does
  /// not wait.
  void order() const;
  /// Returns true if the copies of `give_back` are done.
  bool is_returned() const { return returned_.query(); }

  /// Drops the tensors.
  void clear() { loans_.clear(); }

  /// Returns the stream on which the result is complete.
  const c10::Stream& result_stream() const { return lanes_.back; }

 private:
  struct loan {
    at::Tensor device, host;
    use how;
  };

  at::Tensor lend(const at::Tensor& tensor, use how, form as);
  tensor_lists lend(const tensor_lists& lists, use how, form as);
  c10::DataPtr memory_for(const at::Tensor& tensor, size_t size);

  c10::Device device_;
  bool in_place_;
  lanes lanes_;
  std::vector<loan> loans_;
  bool reads_ = false;
  // Null if there was no work to wait for.
  std::optional<core::event> ready_, fetched_;
  core::event returned_;
  std::shared_ptr<const core::race_clock> called_;  // for the race finder; null unless one looks
};

}  // namespace outback::distributed
