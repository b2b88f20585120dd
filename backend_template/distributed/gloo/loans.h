// The tensors of one operation as Gloo takes them, which knows the CPU's alone: CPU tensors over
// the same memory where the CPU can address it, and copies in pinned memory elsewhere.
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

/// All tensors that one operation lends. The calls come in this order: `lend` and `fetch`, on the
/// caller's thread; `wait_until_fetched` before the transport reads; `give_back` when it is done;
/// `order` on each thread that waits for the result. Two calls must not overlap, but for `order`.
/// They throw what the runtime's slots answer.
///
/// The memory of the tensors stays alive as long as this object or the transport holds them, and
/// the caching allocator knows of the streams that copy.
class loans {
 public:
  /// Of `device`, one of ours. Its current stream is the one that the tensors are ordered with.
  /// Throws c10::Error (RuntimeError) while that stream is captured.
  loans(lanes_of_devices& all, c10::Device device);

  /// Returns the CPU's tensors for those of `wanted`, which are on `device`.
  lent_arguments lend(const collective& wanted);

  /// Enqueues the copies of what is read. If nothing is lent, the operation is still ordered behind
  /// the current stream.
  void fetch();
  /// Returns true if `wait_until_fetched` would not wait. Asks the runtime at most once.
  bool is_fetched() const;
  void wait_until_fetched() const;

  /// Enqueues the copies of what was written, and lets `result_stream` be behind all that this
  /// object did. Call it once. The loans are over then.
  void give_back();
  /// Lets the calling thread's current stream wait for these copies. The host does not wait.
  void order() const;
  /// Returns true if these copies are done.
  bool is_returned() const { return returned_.query(); }

  /// Gives up the tensors.
  void clear() { loans_.clear(); }

  /// Returns the stream on which the result is complete.
  const c10::Stream& result_stream() const { return lanes_.back; }

 private:
  struct loan {
    at::Tensor device, host;
    use how;
  };

  at::Tensor lend(const at::Tensor& tensor, use how, elements as);
  tensor_lists lend(const tensor_lists& lists, use how, elements as);
  c10::DataPtr memory_for(const at::Tensor& tensor, size_t size);

  c10::Device device_;
  bool in_place_;
  lanes lanes_;
  std::vector<loan> loans_;
  bool reads_ = false;
  // Null where there was nothing to wait for.
  std::optional<core::event> ready_, fetched_;
  core::event returned_;
  std::shared_ptr<const core::race_clock> called_;  // for the race finder; null unless one looks
};

}  // namespace outback::distributed
