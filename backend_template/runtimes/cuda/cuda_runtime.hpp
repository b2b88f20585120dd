// NVIDIA's devices, through the libcudart that the runtime finds at run time, with all groups. The
// list below says how the runtime behaves where CUDA leaves a choice. A project includes cuda.h.
//
//   Start      The first slot that is called loads the libraries, and the first slot that needs
//              CUDA starts it. device_count asks NVML, so that a process may fork afterwards. Only
//              devices that are used get contexts. If CUDA does not start there are 0 devices, and
//              each slot tries again or says why.
//   Current    Every slot but device_state.select leaves the thread's current device as it was,
//              even if the thread has none: see current.hpp.
//   Streams    All streams are non-blocking, also the default stream, which the runtime makes for
//              each device. CUDA's own default streams are not suitable: the legacy stream and
//              other streams wait for each other, and the per-thread stream is a different stream
//              in each thread. wrap_stream accepts both by CUDA's handles 0, 1 and 2, and any
//              stream of other code.
//   Copies     Copies between devices use cudaMemcpyPeerAsync. When the slot returns, a pageable
//              source has been read and a pageable destination has been written.
//   Fills      The driver fills in words of up to four bytes. For patterns of eight bytes, and for
//              ranges that are not aligned to their pattern, fill_pattern.hpp writes the pattern
//              once and doubles the filled part with copies.
//   Events     Each event is one cudaEvent_t. Elapsed times have the precision of CUDA's float
//              milliseconds.
//   Captures   Captures use CUDA's relaxed mode: any thread may end a capture, and memory may be
//              allocated meanwhile. The runtime itself refuses graph launches, and copies from or
//              to pageable memory, which CUDA would capture but the contract forbids.
//   Kernels    A module's `outback_module` is not a CUmodule: the driver's module stays loaded
//   until
//              no launch of its kernels can be pending, and for good if one was captured; see
//              unloading.hpp.
//   Errors     Texts have the error's name, number and words from CUDA, and the function. After an
//              error for which CUDA demands a relaunch of the process, the device is lost: every
//              later call on it is DEVICE_LOST. The runtime clears each error, so that
//              cudaGetLastError does not return it.
//   Fork       A child of a process that has started CUDA gets an error that says so; host_info
//              calls all memory pageable there.
//   Native     The handle of a device is its CUdevice, a number. The handles of context, streams
//              and events are CUcontext, cudaStream_t and cudaEvent_t.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "backend_template/runtimes/cuda/device.hpp"
#include "backend_template/runtimes/cuda/event.hpp"
#include "backend_template/runtimes/cuda/graph.hpp"
#include "backend_template/runtimes/cuda/machine.hpp"
#include "backend_template/runtimes/cuda/stream.hpp"
#include "backend_template/runtimes/handles.hpp"
#include "backend_template/runtimes/pinned_ranges.hpp"
#include "backend_template/runtimes/slot_members.hpp"
#include "outback/runtime.hpp"

namespace outback::cuda {

/// A class for `outback::table_of`. outback/runtime.h says what each member must do. Members may be
/// called from any thread at any time. They throw outback::runtime_error with the status for CUDA's
/// error (errors.hpp), outback::device_lost for a device that was lost, and
/// outback::invalid_argument for a device that does not exist and for a stream, event or graph of
/// another device. Beyond the contract:
///
///   device_count       Asks NVML before CUDA is started, and CUDA if NVML cannot tell. Returns 0
///                      if CUDA does not start. If NVML and CUDA disagree, the number changes when
///                      CUDA starts, and a line on stderr says so.
///   device_info        Starts CUDA, like all other members but host_info. Makes no context, and
///                      neither do device_is_active and peer_can_access.
///   mem_alloc          Throws outback::out_of_memory with the free and the total bytes. Allowed
///                      during captures.
///   mem_free           Throws outback::invalid_argument unless `ptr` is null or device memory of
///                      this device. cudaFree may wait for the device.
///   mem_copy           May wait for the stream if one side is pageable host memory. In a capture
///                      that this runtime began, pageable host memory breaks the capture and throws
///                      outback::invalid_argument.
///   mem_fill           Enqueues one fill, or a few fills and copies. Does not wait.
///   stream_create      Clamps `priority` to CUDA's range.
///   stream_destroy     Leaves a wrapped stream's handle as it is. Destroys the stream even if CUDA
///                      reports an error of earlier work. On a lost device, frees the runtime's own
///                      objects and throws outback::device_lost. event_destroy and graph_destroy do
///                      the same.
///   event_elapsed      Exact to about half a microsecond for intervals of a few seconds. CUDA
///                      refuses events of two devices.
///   host_alloc         Returns memory that is pinned for all devices (cudaHostAllocPortable).
///                      Makes a context on some device if there is none.
///   host_info          Asks the runtime's own table first, then CUDA. Starts nothing and makes no
///                      context: if this runtime has no context, all memory counts as pageable.
///   host_register      Throws outback::invalid_argument if the range overlaps memory that this
///                      runtime pinned. For other overlaps throws CUDA's error.
///   device_select      Calls cudaSetDevice, which makes the context. No other member changes the
///                      thread's current device.
///   memory_usage       Reports the memory of the whole device, all processes included. Makes a
///                      context.
///   peer_enable        Makes a context. Succeeds if other code enabled the access before; that
///                      access stays after peer_disable.
///   native_device      Returns the CUdevice, a number; for device 0 it is a null pointer.
///   native_context     Returns the primary context, which the call makes if there is none. The
///                      runtime keeps the context.
///   native_wrap_stream Throws outback::invalid_argument for a stream of another device, unless the
///                      stream is in a capture: then CUDA does not tell the device. The caller
///                      keeps the stream alive.
///   callback_enqueue   Runs the callback on a thread of CUDA.
///   ipc_get_memory, ipc_get_event
///                      Return CUDA's interprocess handles, preceded by the device's UUID and the
///                      process. There is no descriptor.
///   ipc_open_memory    Throws outback::invalid_argument for a handle that this process made, and
///                      for a handle of another device than `device`.
///   graph_status       Also reports captures that other code began on the stream.
///   graph_launch       In a capture, breaks the capture and throws outback::invalid_argument.
///   module_load        Takes cubins, fatbins and PTX. Throws outback::invalid_argument with the
///   log of
///                      the driver's compiler. May unload modules that were given to module_unload.
///   module_unload      Calls nothing in CUDA.
///   kernel_of          Loads a kernel that CUDA loads lazily, so that no launch has to do so in a
///                      capture.
///   kernel_launch      Knows the number and sizes of the arguments only if the driver is of CUDA
///                      12.4 or newer. Does not check where device pointers point: a wrong one is
///                      an illegal address, which loses the device.
///   telemetry_read     Returns NVML's measurements. Throws outback::unsupported if NVML is missing
///                      or does not measure the metric.
class cuda_runtime {
 public:
  cuda_runtime() = default;
  /// For tests: the process's own instance is never destroyed. All streams, events, graphs and
  /// memory must be gone before, and no work may be pending.
  ~cuda_runtime();
  cuda_runtime(const cuda_runtime&) = delete;
  cuda_runtime& operator=(const cuda_runtime&) = delete;

  OUTBACK_MEMBERS_OF(runtime)
  OUTBACK_MEMBERS_OF(streams)
  OUTBACK_MEMBERS_OF(events)
  OUTBACK_MEMBERS_OF(host_memory)
  OUTBACK_MEMBERS_OF(device_state)
  OUTBACK_MEMBERS_OF(host_registration)
  OUTBACK_MEMBERS_OF(peer)
  OUTBACK_MEMBERS_OF(native)
  OUTBACK_MEMBERS_OF(callbacks)
  OUTBACK_MEMBERS_OF(ipc)
  OUTBACK_MEMBERS_OF(graphs)
  OUTBACK_MEMBERS_OF(telemetry)
  OUTBACK_MEMBERS_OF(kernels)
#if OUTBACK_CUDA_HAS_NVTX
  OUTBACK_MEMBERS_OF(ranges)
#endif

 private:
  // Returns CUDA's state; the first call starts CUDA. Throws the same as start_cuda.
  const machine& started();
  // Serves `started` as long as CUDA is not started; locks start_mutex_.
  const machine& start();
  // Like `started`, but throws outback::runtime_error in a forked child.
  const machine& usable();
  // Returns the device with this index, even if it is lost. Throws outback::invalid_argument if
  // there is no such device.
  device& listed(int32_t index);
  // Like `listed`, but throws outback::device_lost for a lost device.
  device& at(int32_t index);
  // Returns a device for calls about host memory, which belongs to no device: a device that has a
  // context, if there is one. Throws outback::unsupported if there are no devices.
  device& host_device();

  // Returns the stream behind the handle, and throws if it belongs to another device. The device's
  // context must be current, because a null handle may make the default stream.
  stream& stream_at(device& d, outback_stream handle);
  event& event_at(device& d, outback_event handle);
  graph& graph_at(device& d, outback_graph handle);

  // If the stream is in a capture, breaks the capture and throws outback::invalid_argument. For
  // work that CUDA would capture but the contract forbids.
  void refuse_in_capture(device& d, const stream& s, const char* what);
  // Fills with a word of 1, 2 or 4 bytes. `to` must be aligned to the word, and `size`, in bytes,
  // must be a multiple of the word.
  void fill_words(device& d, std::byte* to, std::size_t size, const std::byte* value,
                  std::size_t word, cudaStream_t where);

  std::mutex start_mutex_;
  std::atomic<machine*> machine_{nullptr};
  std::atomic<int32_t> counted_{-1};        // NVML's count; -1: not asked, or NVML cannot tell
  std::atomic<bool> did_not_start_{false};  // CUDA was tried at least once
  std::atomic<int32_t> captures_{0};        // begun here, not ended; at 0 copies need not ask CUDA
  // CUDA says whether a pointer is pinned, but not where a registered range begins and ends.
  // host_memory.info needs this, so the runtime keeps its own list.
  pinned_ranges pinned_;
  // Pairs of a device and a peer: this runtime lets the device access the peer's memory.
  // peer_disable disables only these pairs, so access that another user of CUDA enabled on the same
  // context stays.
  std::mutex peers_mutex_;
  std::set<std::pair<int32_t, int32_t>> peers_;
};

}  // namespace outback::cuda
