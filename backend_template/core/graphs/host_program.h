// The part of a graph that runs on the host: operators that CPU kernels serve, each of them a
// callback in the graph, in the order of the stream on which it was captured.
//
// device_graph.cpp makes one program for each capture, ops/recording adds the operators, and the
// runtime runs them in each launch, on a thread of its own.
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

/// The operators of one graph, the memory that they use and the generators that they draw from. The
/// graph and its pending launches share it. Thread-safe, but only one capture may fill it.
class host_program {
 public:
  /// Where each generator of the capture stands for one launch, by `draw::generator`.
  using positions = std::vector<philox_position>;
  /// One operator. It runs once in each launch, on a thread of the runtime's, so it must not call a
  /// slot, or wait for the device. If it throws, the rest of that launch is skipped, and the next
  /// wait for the device throws the text (host_failure.h).
  using step = std::function<void(const positions&)>;

  /// `device` is that of the launches. The streams of the capture may be of others too.
  explicit host_program(c10::DeviceIndex device) : device_(device) {}
  host_program(const host_program&) = delete;
  host_program& operator=(const host_program&) = delete;

  // ---- While the work is captured. `stream` is a stream of the capture.

  /// Puts the callback that begins a launch into the graph. Comes before all steps, on the stream
  /// of the capture's begin. Throws what `check` throws, as do `end` and `add`.
  void begin(const c10::Stream& stream);
  /// Puts the callback that ends a launch into the graph. Comes after all steps.
  void end(const c10::Stream& stream);
  /// Puts `work` into the graph.
  void add(const c10::Stream& stream, step work);

  /// A place in a generator's sequence of numbers: `offset` beyond the position at which a launch
  /// finds the generator with this index.
  struct draw {
    std::size_t generator;
    uint64_t offset;
  };
  /// Reserves the numbers of one operator and moves the generator on, as running the operator
  /// would. An undefined generator means the default one of `device`, whose operator draws. Locks
  /// the generator.
  ///
  /// Throws c10::Error (RuntimeError) for a generator of another device type, and for one that was
  /// seeded, or whose state was set, since this capture first used it.
  draw take_numbers(const at::Generator& device_generator, c10::DeviceIndex device);
  /// Returns where the generators stood when the capture first used them. The operators run with
  /// these positions while they are recorded.
  positions starts() const;
  /// Puts the generators back, at the end of the capture: it has drawn nothing then.
  void rewind_generators() noexcept;

  /// Notes that the operators use `data`, the memory of a storage that existed before the capture.
  /// The storage lives as long as the program. A launch is refused if the storage has other memory
  /// by then.
  void keep_input(const c10::Storage& storage, const void* data);
  /// Drops the note of `keep_input`: the storage's memory is the graph's own now.
  void forget_input(const c10::StorageImpl* storage);

  // ---- Launches.

  /// Draws the numbers of one launch from the generators. Comes before the launch is enqueued.
  /// Throws c10::Error (RuntimeError) if an input has other memory than in the capture.
  void prepare_launch();
  /// Undoes `prepare_launch` if the runtime refused the launch. The numbers that it drew stay used.
  void cancel_launch() noexcept;

  /// Drops a program of a graph that is gone, once its launches are over. A callback must not free
  /// device memory, which is a slot, so a program that still runs goes to a list.
  static void release(std::shared_ptr<host_program>&& gone);
  /// Drops the programs of that list whose launches are over. Captures and replays call it.
  static void release_finished();
  /// Waits until no launch of this process is pending, at most until `deadline`. Before Python's
  /// interpreter ends: an operator may be written in Python, or hold objects of Python's.
  static void wait_for_all(std::chrono::steady_clock::time_point deadline) noexcept;

 private:
  // The data of one callback.
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
    int threads = 1;  // how many a CPU kernel may use: the number of the thread that launches
  };
  struct input {
    c10::Storage storage;
    const void* data;
  };

  static void start_launch(void* program) noexcept;
  static void run_node(void* data) noexcept;
  // For the allocator, before it gives memory back: waits for the launches of that list on the
  // device, and drops the programs.
  static void wait_for_launches(c10::DeviceIndex device);
  static void finish_launch(void* program) noexcept;

  const c10::DeviceIndex device_;
  mutable std::mutex mutex_;
  // A deque never moves its elements: the graph's callbacks point to them.
  std::deque<node> nodes_;
  std::vector<source> sources_;
  std::vector<input> inputs_;
  std::deque<launch> prepared_;  // those that are enqueued and have not begun, in their order
  std::atomic<int> pending_{0};  // launches that are enqueued or running
  // State of the launch that runs. The contract runs launches of one graph one after another.
  launch current_;
  std::atomic<bool> failed_{false};
};

}  // namespace outback::core
