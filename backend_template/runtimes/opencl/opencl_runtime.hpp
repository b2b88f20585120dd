// Devices with an OpenCL driver (version 2.0 or newer), through the system's loader. The list below
// says how the runtime behaves where the API leaves a choice. A project includes opencl.h.
//
//   Loading    Nothing is linked. The first slot that needs a device opens libOpenCL.so.1 and lists
//              the drivers. If this fails there are no devices, and the other slots say why.
//   Devices    The devices are the GPUs and accelerators of all drivers, or else the CPUs, that
//              have pointers to memory: see pointer_memory.hpp. Each driver has one context, which
//              is made when one of its devices is first used.
//   Memory     The CPU does not follow the device's pointers, on any device. The runtime gives a
//              process no more memory than the device has, because a driver may oversubscribe its
//              devices.
//   Streams    Streams are in-order queues with profiling. Each command is submitted at once
//              (clFlush). When a stream is destroyed and its queue is idle, another stream gets the
//              queue, or the queue is released.
//   Failures   A command that ends with a negative status is reported by the next sync or query of
//              its stream. What the driver does with the commands behind it is the driver's choice.
//   Events     An event with OUTBACK_EVENT_TIMING is a marker with times of the device's clock.
//              Another event is the stream's last command. A queue of another driver waits for it
//              by a function that OpenCL calls.
//   Copies     A copy from pageable memory up to 64 KiB is staged. The slot waits for a larger copy
//              from pageable memory and for every copy to pageable memory. Between devices the host
//              copies through pinned memory, and the copy is done when the slot returns.
//   Pinned     Pinned memory is the first device's host memory (clHostMemAllocINTEL), or its
//              fine-grained memory.
//   Callbacks  One thread of the runtime runs the callbacks of all streams, one at a time: see
//              host_thread.hpp.
//   Kernels    Modules are OpenCL C, and SPIR-V where the driver takes it. A driver compiles when a
//              module is loaded or, as PoCL does, at a kernel's first launch. Threads that launch
//              one kernel take turns, because its arguments are a part of the driver's kernel.
//   Activity   Records have the times of the driver's events. Work that other code enqueues has no
//              records. See device_clock.hpp for the clock.
//   Native     Handles are the driver's: device, context, queue, event. The runtime's commands and
//              those of other code keep their order, because the queue does.
//   Fork       In a child that was forked after OpenCL was opened, only device_count and
//              host_memory.info work.
//   Exit       A process that ends waits for the devices to come to rest, for 5 seconds at most.
//              Callbacks that have not begun do not run.
//   Lost       OpenCL has no result that says that a device is gone, so no device is ever lost.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "backend_template/runtimes/address_ranges.hpp"
#include "backend_template/runtimes/handles.hpp"
#include "backend_template/runtimes/opencl/options.hpp"
#include "backend_template/runtimes/opencl/platform.hpp"
#include "backend_template/runtimes/slot_members.hpp"
#include "outback/runtime.hpp"

namespace outback::opencl {

class event;

/// A class for `outback::table_of`. outback/runtime.h says what each member must do. There is one
/// object, which lives as long as the process. Members may be called from any thread at any time.
/// They throw like `check` (result.hpp), and outback::invalid_argument for a device that does not
/// exist and for a stream or event of another device. Beyond the contract:
///
///   device_count       Opens the drivers: a child that is forked afterwards cannot use the
///                      devices. Makes no context.
///   mem_alloc          Throws outback::out_of_memory also if the process would get more memory
///                      than the device has.
///   mem_free           Throws outback::invalid_argument unless `ptr` is null or a pointer that
///                      mem_alloc returned for this device.
///   stream_query       If other code has the stream's queue, the call may wait up to 200 ms.
///   event_elapsed      Throws outback::invalid_argument for events of two devices.
///   device_select      Only checks the index: the driver has no current device.
///   memory_usage       The device's size, and the size minus the memory of this process: OpenCL
///                      does not tell more.
///   native_stream      From then on the runtime expects other code to enqueue commands, so it can
///                      no longer tell cheaply whether the stream is idle.
///   native_event       Returns a complete event if `event` was never recorded.
class opencl_runtime {
 public:
  /// Does not load the loader yet.
  explicit opencl_runtime(const opencl_options& options) : options_(options) {}
  opencl_runtime(const opencl_runtime&) = delete;
  opencl_runtime& operator=(const opencl_runtime&) = delete;

  OUTBACK_MEMBERS_OF(runtime)
  OUTBACK_MEMBERS_OF(streams)
  OUTBACK_MEMBERS_OF(events)
  OUTBACK_MEMBERS_OF(host_memory)
  OUTBACK_MEMBERS_OF(device_state)
  OUTBACK_MEMBERS_OF(native)
  OUTBACK_MEMBERS_OF(callbacks)
  OUTBACK_MEMBERS_OF(activity)
  OUTBACK_MEMBERS_OF(kernels)

 private:
  // A range that host_alloc returned, in bytes.
  struct pinned_memory {
    void* base;
    std::size_t size;
  };

  // Returns the platform, which the first call makes.
  platform& there();
  // Returns the device with this index. Throws if there is no such device, and in a forked child.
  device& at(int32_t index);
  // Returns the device whose driver gives pinned memory. Throws outback::unsupported if there are
  // no devices. Also throws in a forked child.
  device& host_device();
  // Return the queue or event behind a handle. Throw outback::invalid_argument if it belongs to
  // another device.
  command_queue& queue_of(device& d, outback_stream stream);
  event& event_of(int32_t index, outback_event handle) const;

  void copy_between(device& from, command_queue& q, device& to, void* dst, const void* src,
                    std::size_t size);

  const opencl_options options_;
  std::mutex platform_mutex_;
  std::atomic<platform*> platform_{nullptr};
  address_ranges<pinned_memory> pinned_;
};

}  // namespace outback::opencl
