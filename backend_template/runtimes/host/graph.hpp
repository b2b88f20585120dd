// A graph: the work of a finished capture, and its launches. The graph slots of the runtime use it.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "backend_template/runtimes/host/capture.hpp"
#include "backend_template/runtimes/host/event.hpp"
#include "backend_template/runtimes/host/stream.hpp"

namespace outback::host {

/// An outback_graph points to this. May be used from any thread. A graph may be destroyed while
/// launches are pending, because each launch shares the work.
class graph {
 public:
  /// With `seed` 0 every launch runs the work in the order in which it was enqueued. With any other
  /// seed each launch picks its own order among the orders that the capture's events allow.
  graph(int32_t device, recording work, uint64_t seed);

  int32_t device() const noexcept { return device_; }

  /// Allows launches. Throws outback::invalid_argument the second time.
  void instantiate();

  /// Enqueues all the work as one piece of work on `where`, to run after the graph's earlier
  /// launches. Throws outback::invalid_argument if the graph was not instantiated. If `where` is in
  /// a capture, breaks the capture and throws outback::invalid_argument. Throws
  /// outback::runtime_error like `stream::enqueue`, and in a forked child if a launch of the parent
  /// is pending. The caller does not wait.
  void launch(stream& where);

 private:
  const int32_t device_;
  const std::shared_ptr<const recording> work_;
  const uint64_t seed_;
  std::mutex mutex_;  // held while enqueueing, so that a launch is queued before the next one
  bool ready_ = false;
  uint64_t launches_ = 0;
  std::shared_ptr<mark> last_;  // completed when the last launch has run
};

}  // namespace outback::host
