// The part of a graph that runs on the host: operators that CPU kernels serve. Each operator is a
// callback in the graph, in the order of its capturing stream.
//
// device_graph.cpp makes one program for each capture, ops/recording adds the operators, and each
// launch runs them on a thread of the runtime.
#pragma once

#include <ATen/core/Generator.h>
#include <c10/core/Storage.h>
#include <c10/core/Stream.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "backend_template/core/interfaces/generator.h"

namespace outback::core {

/// Returns true if operators that CPU kernels serve can be recorded on the device: the CPU and the
/// device can use each other's memory, and the runtime has the group callbacks.
bool records_host_operators(c10::DeviceIndex device);

/// The operators of one graph, with their memory and their random generators. The graph and its
/// pending launches share it. Thread-safe, but only one capture may fill it.
class host_program {
 public:
  /// The position of each generator at one launch, indexed by `draw::generator`.
  using positions = std::vector<philox_position>;
  /// One operator. It runs once in each launch, on a thread of the runtime, so it must not call a
  /// slot or wait for the device. If it throws, the launch skips the remaining operators, and the
  /// next wait for the device throws the exception's text (host_failure.h).
  using step = std::function<void(const positions&)>;

  /// The graph is launched on `device`. The capture may have streams of other devices too.
  explicit host_program(c10::DeviceIndex device) : device_(device) {}
  host_program(const host_program&) = delete;
  host_program& operator=(const host_program&) = delete;

  // ---- While the work is captured. `stream` is a stream of the capture.

  /// Puts the callback that begins a launch into the graph. Call it before all `add`, with the
  /// stream on which the capture began. Throws what `check` throws, as do `end` and `add`.
  void begin(const c10::Stream& stream);
  /// Puts the callback that ends a launch into the graph. Call it after all `add`.
  void end(const c10::Stream& stream);
  /// Puts `work` into the graph.
  void add(const c10::Stream& stream, step work);

  /// A place in a generator's sequence of numbers: `offset` is counted from the generator's
  /// position at the launch, and `generator` is an index into `positions`.
  struct draw {
    std::size_t generator;
    uint64_t offset;
  };
  /// Reserves the random numbers for one operator, and advances the generator as running the
  /// operator would. An undefined generator means the default generator of `device`, on which the
  /// operator runs. Locks the generator.
  ///
  /// Throws c10::Error (RuntimeError) for a generator of another device type, and for a generator
  /// that was seeded, or got another state, since this capture first used it.
  draw take_numbers(const at::Generator& device_generator, c10::DeviceIndex device);
  /// Returns the positions of the generators when the capture first used them. While the operators
  /// are recorded they run with these positions.
  positions starts() const;
  /// Puts the generators back to `starts`. The end of the capture calls it, so that the capture
  /// itself draws no numbers.
  void rewind_generators() noexcept;

  /// Notes that the operators use `data`, the memory of a storage that existed before the capture.
  /// The program keeps the storage alive. `prepare_launch` throws if the storage has other memory
  /// by then.
  void keep_input(const c10::Storage& storage, const void* data);
  /// Drops the note of `keep_input`, because the storage got memory from the graph's own pool.
  void forget_input(const c10::StorageImpl* storage);

  // ---- Launches.

  /// Draws the random numbers for one launch from the generators. Call it before the launch is
  /// enqueued. Throws c10::Error (RuntimeError) if an input no longer has the memory that it had in
  /// the capture.
  void prepare_launch();
  /// Undoes `prepare_launch` after the runtime refused the launch. The generators do not go back.
  void cancel_launch() noexcept;

  /// Drops the program of a graph that is gone. If launches are pending, puts the program into a
  /// list for `release_finished`: a callback must not free device memory, since callbacks call no
  /// slots.
  static void release(std::shared_ptr<host_program>&& gone);
  /// Drops the programs in the list of `release` whose launches are over. Captures and replays call
  /// it.
  static void release_finished();
  /// Waits until no launch of this process is pending, at most until `deadline`. Call it before
  /// Python's interpreter ends, since an operator may be written in Python or hold Python objects.
  static void wait_for_all(std::chrono::steady_clock::time_point deadline) noexcept;

 private:
  // The data pointer of one callback points to a node.
  struct node {
    host_program* program;
    step work;
  };
  struct source {
    at::Generator generator;
    philox_position start;  // when the capture first used it
    uint64_t drawn = 0;     // how far one launch moves the generator's offset
  };
  struct launch {
    positions starts;
    int threads = 1;  // for CPU kernels: the thread count of the launching thread
  };
  struct input {
    c10::Storage storage;
    const void* data;
  };

  static void start_launch(void* program) noexcept;
  static void run_node(void* data) noexcept;
  // The allocator calls it before it gives memory back: waits for the launches of the programs in
  // the list of `release` on the device, and drops these programs.
  static void wait_for_launches(c10::DeviceIndex device);
  static void finish_launch(void* program) noexcept;

  const c10::DeviceIndex device_;
  mutable std::mutex mutex_;
  // A deque never moves its elements: the graph's callbacks point to them.
  std::deque<node> nodes_;
  std::vector<source> sources_;
  std::vector<input> inputs_;
  std::deque<launch> prepared_;  // enqueued and not begun, in launch order
  std::atomic<int> pending_{0};  // launches that are enqueued or running
  // State of the running launch. The contract runs launches of one graph one after another.
  launch current_;
  std::atomic<bool> failed_{false};
};

}  // namespace outback::core
