// A graph as torch.cuda has it: what is captured on a stream, with memory of its own, and is
// replayed on any.
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

/// Not thread-safe against itself. What fails throws, leaves no capture open, and leaves the graph
/// empty or as it was. Throws c10::NotImplementedError without the runtime's group graphs.
///
/// What is allocated on the streams of the capture comes out of the graph's pool, which nobody else
/// is served from, and whose memory stays until all graphs of the pool are reset. Operators that
/// the CPU's kernels serve are recorded as callbacks where the CPU and the device share their
/// memory (records_host_operators); a capture of such a device computes while it records, and puts
/// back what that changed.
class device_graph {
 public:
  /// Kept: `instantiate` is left to the caller, or to the first replay.
  explicit device_graph(bool keep_graph) : keep_graph_(keep_graph) {}
  /// Replays that are pending still run. An open capture is ended and thrown away.
  ~device_graph();
  device_graph(const device_graph&) = delete;
  device_graph& operator=(const device_graph&) = delete;

  /// Captures the calling thread's current stream, which is not a default one. {0, 0}: a pool of
  /// its own.
  void capture_begin(c10::MempoolId_t pool = {0, 0});
  /// On the thread and with the current stream of the begin. Throws what broke the capture.
  void capture_end();
  /// Ends an open capture without a graph; for a failure above that has its own error.
  void abandon_capture() noexcept;

  void instantiate();
  /// On the calling thread's current stream of the graph's device.
  void replay();
  /// Lets go of the graph and its memory.
  void reset();

  bool is_capturing() const noexcept { return open_ != nullptr; }
  /// Throws before a capture has begun.
  c10::MempoolId_t pool() const;

 private:
  void close() noexcept;
  void start_recording();
  void stop_recording() noexcept;

  const bool keep_graph_;
  bool is_captured_ = false;
  bool is_instantiated_ = false;
  std::shared_ptr<capture> open_;
  std::thread::id capturing_thread_;
  std::shared_ptr<std::atomic<int>> recordings_;  // of that thread, while they are one more
  c10::DeviceIndex device_ = -1;                  // -1: has no pool
  c10::MempoolId_t pool_{0, 0};
  std::optional<graph> graph_;
  std::shared_ptr<host_program> program_;
};

/// Throws c10::NotImplementedError: what is in a graph is not to be had.
[[noreturn]] void refuse_graph_description();

/// The key that brings a thread's operators to the recorder, below autograd and autocast, before
/// any device. Autograd's threads take it over. No device of torch's own has it.
inline constexpr c10::DispatchKey recorder_key = c10::DispatchKey::CustomRNGKeyId;

/// For the recorder, when an operator is in no capture: the calling thread's come to it no longer,
/// if other threads ended all that it recorded, which could not say so here.
void leave_recorder_if_over() noexcept;

/// `prepare` is called when a capture begins that records operators, so that those of the thread
/// come to the recorder. Once, at registration.
void set_operator_recorder(void (*prepare)());

}  // namespace outback::core
