// Work that is recorded on a stream once and launched often.
#pragma once

#include <c10/core/Stream.h>

#include "outback/runtime.h"

namespace outback::core {

/// Owns one graph of the runtime. Not thread-safe against itself. All of it throws
/// c10::NotImplementedError without the runtime's group graphs.
class graph {
 public:
  graph() = default;
  /// A launch that is pending still runs. An open capture is ended and thrown away.
  ~graph();
  graph(const graph&) = delete;
  graph& operator=(const graph&) = delete;

  /// From now on the work of `stream` goes into the graph instead of being run. The graph is empty.
  void begin_capture(const c10::Stream& stream);
  /// Ends it, also where it throws: then the graph is empty as before.
  void end_capture();
  /// Makes it ready to be launched. Once.
  void instantiate();
  /// Runs what was recorded, as one piece of the stream's work.
  void launch(const c10::Stream& stream);

 private:
  c10::Stream capturing_{c10::Stream::UNSAFE, c10::Device(c10::kCPU), 0};
  bool is_capturing_ = false;
  c10::DeviceIndex device_ = -1;
  outback_graph handle_ = nullptr;
};

/// OUTBACK_CAPTURE_NONE without the group.
outback_capture capture_status(const c10::Stream& stream);

}  // namespace outback::core
