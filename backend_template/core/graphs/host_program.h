// The part of a graph that runs on the host: operators that CPU kernels serve, each a callback in
// the graph, in the order of the stream that it was captured on.
#pragma once

#include <ATen/core/Generator.h>
#include <c10/core/Storage.h>
#include <c10/core/Stream.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "backend_template/core/interfaces/generator.h"

namespace outback::core {

/// True where operators that CPU kernels serve can be recorded: the CPU and the device share their
/// memory, and the runtime has callbacks.
bool records_host_operators(c10::DeviceIndex device);

/// Shared by a graph and its pending launches. Thread-safe, but for one capture at a time.
class host_program {
 public:
  /// Where each generator of the capture stands for one launch.
  using positions = std::vector<philox_position>;
  /// Runs in each launch, on a thread of the runtime's: no slot, no wait. What it throws ends the
  /// launch, and is reported to the next wait for the device.
  using step = std::function<void(const positions&)>;

  explicit host_program(c10::DeviceIndex device) : device_(device) {}
  host_program(const host_program&) = delete;
  host_program& operator=(const host_program&) = delete;

  // ---- While the work is captured.

  /// On the stream of the capture's begin: before all steps, and after them.
  void begin(const c10::Stream& stream);
  void end(const c10::Stream& stream);
  void add(const c10::Stream& stream, step work);

  /// A place in the numbers of a generator: `offset` beyond where the launch finds it.
  struct draw {
    std::size_t generator;
    uint64_t offset;
  };
  /// Moves the generator on, as running the operator would. Undefined: the device's default one.
  draw take_numbers(const at::Generator& device_generator);
  /// Where the generators stood when the capture began to use them.
  positions starts() const;
  /// Generators stand there again; they move on with each launch.
  void rewind_generators() noexcept;

  /// Memory that was there before the capture. It lives as long as the program, which does not run
  /// if the storage has got other memory.
  void keep_input(const c10::Storage& storage, const void* data);
  void forget_input(const c10::StorageImpl* storage);

  // ---- Launches.

  /// Before a launch is enqueued. Throws when an input has moved.
  void prepare_launch();
  /// The launch that was prepared last was refused.
  void cancel_launch() noexcept;

  /// Lets go of a program, once its launches are over: callbacks may not free device memory, so
  /// those that are pending are looked after by later calls.
  static void release(std::shared_ptr<host_program>&& gone);
  static void release_finished();

 private:
  struct node {
    host_program* program;
    step work;
  };
  struct source {
    at::Generator generator;
    philox_position start;
    uint64_t drawn = 0;
  };
  struct input {
    c10::Storage storage;
    const void* data;
  };

  void enqueue(const c10::Stream& stream, void (*callback)(void*), void* data);
  static void start_launch(void* program) noexcept;
  static void run_node(void* it) noexcept;
  static void finish_launch(void* program) noexcept;

  const c10::DeviceIndex device_;
  mutable std::mutex mutex_;
  std::deque<node> nodes_;  // a node stays where it is
  std::vector<source> sources_;
  std::vector<input> inputs_;
  std::deque<positions> prepared_;
  std::atomic<int> pending_{0};
  // Of the launch that runs: launches of one graph run one after another.
  positions current_;
  std::atomic<bool> failed_{false};
};

}  // namespace outback::core
