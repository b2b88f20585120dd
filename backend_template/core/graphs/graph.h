// One graph of the runtime, as an owned handle: work that is recorded on a stream once and launched
// often. It knows nothing of memory pools and random numbers; device_graph.h puts those around it,
// and is what torch.<name>'s graph class uses.
#pragma once

#include <c10/core/Stream.h>

#include "outback/runtime.h"

namespace outback::core {

/// Owns one graph of the runtime. Calls for one object must not overlap. All members throw
/// c10::NotImplementedError if the runtime does not have the group graphs, c10::Error if they are
/// called out of order, and what `check` throws if a slot fails.
class graph {
 public:
  graph() = default;
  /// Ends an open capture and destroys the graph. A launch that is pending still runs. In a forked
  /// child the graph is the parent's, and nothing is done.
  ~graph();
  graph(const graph&) = delete;
  graph& operator=(const graph&) = delete;

  /// Begins a capture: work that is put on `stream` goes into the graph and does not run. The
  /// object must be new, and the stream must be in no capture.
  void begin_capture(const c10::Stream& stream);
  /// Ends the capture. It is over also if this function throws; the graph is empty then.
  void end_capture();
  /// Makes the graph ready to be launched, which may take long. Only once.
  void instantiate();
  /// Runs what was recorded, as one piece of work of `stream`, a stream of the graph's device.
  /// Does not wait for it.
  void launch(const c10::Stream& stream);

 private:
  c10::Stream capturing_{c10::Stream::UNSAFE, c10::Device(c10::kCPU), 0};  // while is_capturing_
  bool is_capturing_ = false;
  c10::DeviceIndex device_ = -1;    // -1: nothing was captured yet
  outback_graph handle_ = nullptr;  // null: empty
};

/// Returns what the runtime says of the stream, an OUTBACK_CAPTURE_*. Returns OUTBACK_CAPTURE_NONE
/// if the runtime does not have the group graphs, and before the backend has started. Throws what
/// `check` throws, and what `blame` throws for a value that does not exist.
outback_capture capture_status(const c10::Stream& stream);

}  // namespace outback::core
