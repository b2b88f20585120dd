// A graph with the meaning of torch.cuda.CUDAGraph: work that is captured on a stream, with its own
// memory pool, and replayed on any stream. torch.<name>.CUDAGraph and torch.accelerator.Graph are
// wrappers of `device_graph`; docs/graphs.md describes it for users.
#pragma once

#include <c10/core/Allocator.h>

#include <memory>
#include <thread>

#include "backend_template/core/captures/capture.h"
#include "backend_template/core/graphs/graph_pool.h"
#include "backend_template/core/graphs/host_program.h"
#include "backend_template/core/memory/held_host_memory.h"
#include "outback/runtime.h"

namespace outback::core {

/// A graph of the runtime, its pool and the program of its CPU operators.
///
/// Calls for one object must not overlap. A call out of order throws c10::Error (RuntimeError) and
/// changes nothing in the object. If a slot fails, the call throws what `check` throws. Then no
/// capture is open, and the graph is empty, unchanged, or captured but not instantiated. Without
/// the runtime's group graphs a capture throws c10::NotImplementedError (NotImplementedError). In a
/// forked child the graph belongs to the parent: calls throw what ensure_started throws, and the
/// destructor drops nothing.
///
/// Memory that is allocated on the streams of the capture, on any device, comes from the graph's
/// pool. The pool serves no other allocations, and its memory keeps its addresses until all graphs
/// of the pool are reset. Pinned host memory that captured copies use is not handed out again until
/// the graph is reset and its replays are over, even if it was allocated before the capture.
///
/// Where the CPU and the device share their memory (`records_host_operators`), operators that CPU
/// kernels serve are recorded as callbacks. Such a capture computes while it records. The capture's
/// end restores the memory and the generators that these operators changed.
class device_graph {
 public:
  /// With `keep_graph`, `capture_end` leaves `instantiate` to the caller or to the first replay.
  explicit device_graph(bool keep_graph) : keep_graph_(keep_graph) {}
  /// Ends an open capture and drops it. Pending replays still run.
  ~device_graph();
  device_graph(const device_graph&) = delete;
  device_graph& operator=(const device_graph&) = delete;

  /// Captures the calling thread's current stream, which must not be a default stream nor in a
  /// capture. `pool` may be shared with other graphs; {0, 0} makes a new pool. Waits for the stream
  /// first if CPU operators will be recorded.
  void capture_begin(c10::MempoolId_t pool = {0, 0});
  /// Ends the capture. Call it on the thread, and with the current stream, of `capture_begin`.
  /// Otherwise it throws c10::Error (RuntimeError), and the capture goes on, since its own thread
  /// may still be recording. If the capture is broken, throws c10::Error with the reason; if the
  /// runtime fails to end or to instantiate the graph, throws what `check` throws. Then the graph
  /// is empty.
  void capture_end();
  /// Ends an open capture without a graph, or does nothing. For callers that already have an error
  /// to report, such as the exception from a `with` statement's body.
  void abandon_capture() noexcept;

  /// Makes the graph ready to be launched. Call it only once, and only with `keep_graph`: otherwise
  /// `capture_end` has instantiated the graph.
  void instantiate();
  /// Launches the graph on the calling thread's current stream of the graph's device, and does not
  /// wait for it. Instantiates the graph first if needed. Throws c10::Error (RuntimeError) if a
  /// tensor that CPU operators use has got other memory since the capture.
  void replay();
  /// Drops the graph and its use of the pool. Pending replays still run. The object can
  /// capture again.
  void reset();

  bool is_capturing() const noexcept { return open_ != nullptr; }
  /// Returns the pool's id. Throws c10::Error (RuntimeError) before a capture has begun.
  c10::MempoolId_t pool() const;

 private:
  void end_quietly() noexcept;
  void drop_capture() noexcept;
  void close() noexcept;

  const bool keep_graph_;
  bool is_captured_ = false;
  bool is_instantiated_ = false;
  std::unique_ptr<open_capture> open_;  // null: no capture is open
  std::thread::id capturing_thread_;
  c10::DeviceIndex device_ = -1;                   // -1: nothing was captured
  std::shared_ptr<graph_pool> pool_;               // null: no pool yet
  bool has_begun_ = false;                         // the runtime has an open capture
  outback_graph handle_ = nullptr;                 // null: empty
  std::shared_ptr<host_program> program_;          // null: records no CPU operators
  std::shared_ptr<held_host_memory> host_memory_;  // null: nothing was captured
};

/// Throws c10::NotImplementedError (NotImplementedError): the contract has no slot that describes
/// the nodes of a graph. For enable_debug_mode and debug_dump.
[[noreturn]] void refuse_graph_description();

}  // namespace outback::core
