// All there is in one process: devices, their objects, and one lock for everything. Leaked, since
// threads may use it until the process ends.
//
// Every function expects the lock to be held, unless it says otherwise. Functions that refuse throw
// (errors.hpp).
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tests/fakes/cudart/block.hpp"
#include "tests/fakes/cudart/capture.hpp"
#include "tests/fakes/cudart/cuda_api.hpp"
#include "tests/fakes/cudart/device.hpp"
#include "tests/fakes/cudart/errors.hpp"
#include "tests/fakes/cudart/faults.hpp"
#include "tests/fakes/cudart/handles.hpp"
#include "tests/fakes/cudart/kernels.hpp"
#include "tests/fakes/cudart/modules.hpp"
#include "tests/fakes/cudart/record.hpp"
#include "tests/fakes/cudart/settings.hpp"
#include "tests/fakes/cudart/stream.hpp"
#include "tests/fakes/cudart/variables.hpp"
#include "tests/fakes/cudart/violations.hpp"
#include "tests/fakes/cudart/work.hpp"

namespace fake_cuda {

class machine {
 public:
  machine();

  std::mutex mutex;
  const settings given;
  fake_cuda::violations violations;
  fake_cuda::faults faults;
  executor runs;
  work_record recorded;

  std::vector<std::unique_ptr<device>> devices;
  block_table blocks;
  kernel_table kernels;
  variable_table variables;
  handle_table<loaded_module> modules{handle_kind::module};
  handle_table<stream> streams{handle_kind::stream};
  handle_table<event> events{handle_kind::event};
  handle_table<graph> graphs{handle_kind::graph};
  handle_table<graph_exec> execs{handle_kind::exec};
  handle_table<user_object> user_objects{handle_kind::user_object};
  std::vector<std::shared_ptr<capture>> captures;  // those that have not ended
  uint64_t next_id = 1;
  int pinned_allocations = 0;  // and registrations, that were ever made

  bool driver_ready = false;  // cuInit has succeeded
  bool forked = false;        // in a child, after driver_ready: nothing works any more

  /// What cuInit does. Throws what every call answers on a machine without a usable driver.
  void init_driver();
  device& device_at(int index);  // throws cudaErrorInvalidDevice
  /// Throws if the device answers nothing but its error.
  void check_alive(const device& asked) const;
  /// All work of the device that was enqueued by now is done. Releases the lock meanwhile.
  void wait_for_device(std::unique_lock<std::mutex>& lock, device& awaited);
  void wait_for(std::unique_lock<std::mutex>& lock, const work_ptr& awaited);

  /// Retains the primary context once more.
  void retain(device& held);
  /// The last one destroys the context; objects that are in it then are a misuse.
  void release(std::unique_lock<std::mutex>& lock, device& held, const char* entry_point);
  /// Everything that is in the context goes with it. Answers how many objects that were.
  std::size_t empty_context(std::unique_lock<std::mutex>& lock, device& emptied);
};

/// Made at the first call.
machine& the_machine();
/// Null before that.
machine* machine_if_made();

}  // namespace fake_cuda
