// A graph with the meaning of torch.cuda.CUDAGraph: what is captured on a stream, with a memory
// pool of its own, and replayed on any stream. torch.<name>.CUDAGraph and torch.accelerator.Graph
// are wrappers of `device_graph`; docs/graphs.md describes it for users.
//
// The second half of the header is the seam between graphs and operators. Operators that CPU
// kernels serve put nothing on a stream, so the runtime cannot record them. ops/recording takes
// them at a dispatch key of its own (`recorder_key`) and records each as a callback in the graph.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/DispatchKey.h>
#include <c10/core/Stream.h>

#include <atomic>
#include <memory>
#include <optional>
#include <thread>

#include "backend_template/core/graphs/capture.h"
#include "backend_template/core/graphs/graph.h"
#include "backend_template/core/graphs/host_program.h"

namespace outback::core {

/// A graph, its pool and the program of its CPU operators.
///
/// Calls for one object must not overlap. A call out of order throws c10::Error (RuntimeError) and
/// changes nothing in the object. If a slot fails, the call throws what `check` throws; then no
/// capture is open, and the graph is empty, as it was, or captured and not instantiated. Without
/// the runtime's group graphs a capture throws c10::NotImplementedError (NotImplementedError).
///
/// Memory that is allocated on the streams of the capture comes from the graph's pool. The pool
/// serves nobody else, and its memory stays where it is until all graphs of the pool are reset.
///
/// Where the CPU and the device share their memory (`records_host_operators`), operators that CPU
/// kernels serve are recorded as callbacks. Such a capture computes while it records, and puts back
/// at its end what that changed in memory and in generators.
class device_graph {
 public:
  /// With `keep_graph`, `capture_end` leaves `instantiate` to the caller or to the first replay.
  explicit device_graph(bool keep_graph) : keep_graph_(keep_graph) {}
  /// Ends an open capture and drops it. Replays that are pending still run.
  ~device_graph();
  device_graph(const device_graph&) = delete;
  device_graph& operator=(const device_graph&) = delete;

  /// Captures the calling thread's current stream, which must not be a default stream nor in a
  /// capture. `pool` may be shared with other graphs; {0, 0} makes a new pool. Waits for the stream
  /// first if CPU operators will be recorded.
  void capture_begin(c10::MempoolId_t pool = {0, 0});
  /// Ends the capture. The thread and its current stream must be those of the begin: otherwise it
  /// throws c10::Error (RuntimeError) and the capture goes on, since its thread may be at work.
  /// Throws c10::Error with the reason if something broke the capture, and what `check` throws if
  /// the runtime fails to end or to instantiate it; then the graph is empty.
  void capture_end();
  /// Ends an open capture without a graph, or does nothing. For callers that have an error of their
  /// own to report, such as the exception of a `with` statement's body.
  void abandon_capture() noexcept;

  /// Makes the graph ready to be launched. Only once, and only with `keep_graph`: otherwise
  /// `capture_end` has done it.
  void instantiate();
  /// Launches the graph on the calling thread's current stream of the graph's device, and does not
  /// wait for it. Instantiates the graph if that was not done. Throws c10::Error (RuntimeError) if
  /// a tensor that CPU operators use has got other memory since the capture.
  void replay();
  /// Drops the graph and its use of the pool. Replays that are pending still run. The object can
  /// capture again.
  void reset();

  bool is_capturing() const noexcept { return open_ != nullptr; }
  /// Returns the pool's id. Throws c10::Error (RuntimeError) before a capture has begun.
  c10::MempoolId_t pool() const;

 private:
  void close() noexcept;
  void start_recording();
  void stop_recording() noexcept;

  const bool keep_graph_;
  bool is_captured_ = false;
  bool is_instantiated_ = false;
  std::shared_ptr<capture> open_;  // null: no capture is open
  std::thread::id capturing_thread_;
  // The capturing thread's count of recordings, to which this graph's open capture has added one.
  std::shared_ptr<std::atomic<int>> recordings_;
  c10::DeviceIndex device_ = -1;  // -1: has no pool
  c10::MempoolId_t pool_{0, 0};
  std::optional<graph> graph_;
  std::shared_ptr<host_program> program_;  // null: records no CPU operators
};

/// Throws c10::NotImplementedError (NotImplementedError): the contract has no slot that describes
/// what is in a graph. For enable_debug_mode and debug_dump.
[[noreturn]] void refuse_graph_description();

/// The dispatch key at which ops/recording sees operators. It lies below autograd and autocast and
/// above the devices' dense kernels. It is set for a thread while that thread captures, and
/// autograd's threads inherit it. PyTorch's DispatchKey.h intends it for use out of tree, and none
/// of PyTorch's own devices uses it.
inline constexpr c10::DispatchKey recorder_key = c10::DispatchKey::CustomRNGKeyId;

/// Removes `recorder_key` from the calling thread if no capture records the thread's operators any
/// more. The recorder calls it for an operator that is in no capture: another thread may have ended
/// the capture by destroying the graph, and cannot change this thread's dispatch keys.
void leave_recorder_if_over() noexcept;

/// Sets the function that is called when a capture begins that records operators; it registers the
/// recorder's kernels. Without it no operators are recorded. Registration calls it, once.
void set_operator_recorder(void (*prepare)());

}  // namespace outback::core
