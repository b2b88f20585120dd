// A graph: what a capture left, and its launches.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "backend_template/runtimes/host/capture.hpp"
#include "backend_template/runtimes/host/event.hpp"
#include "backend_template/runtimes/host/stream.hpp"

namespace outback::host {

/// May be used from any thread, and may go while launches are pending: they hold what they run.
class graph {
 public:
  /// With `seed` 0, launches run the work in the order of its enqueueing; otherwise each in an
  /// order of its own.
  graph(int32_t device, recording work, uint64_t seed);

  int32_t device() const noexcept { return device_; }

  /// Throws outback::invalid_argument the second time.
  void instantiate();

  /// Runs all the work as one piece of `where`'s, after the launches before. Throws
  /// outback::invalid_argument if the graph was not instantiated or `where` is in a capture,
  /// outback::runtime_error like `stream::enqueue`, and where a launch before is one of the parent
  /// process's.
  void launch(stream& where);

 private:
  const int32_t device_;
  const std::shared_ptr<const recording> work_;
  const uint64_t seed_;
  std::mutex mutex_;  // held while enqueueing, so that launches wait in the order of their streams
  bool ready_ = false;
  uint64_t launches_ = 0;
  std::shared_ptr<mark> last_;  // the end of the last launch
};

}  // namespace outback::host
