// NVIDIA's devices, through the libcudart that is found at run time, with all groups. The text
// below says what the runtime does where CUDA leaves a choice; cuda.h is what a project includes.
//
//   Start      Nothing is loaded before the first slot is called, and CUDA is not started before a
//              slot needs it. device_count asks NVML, so that a process may fork afterwards.
//              Contexts are made on devices that are used, and on no other. Where CUDA does not
//              start there are 0 devices, and each slot tries again or says why.
//   Current    Every slot but device_state.select leaves the thread's current device as it was,
//              also where there is none: see current.hpp.
//   Streams    All are non-blocking, also the default stream, which is one of ours for each device.
//              CUDA's legacy default stream waits for other streams and they wait for it, and its
//              per-thread one is another stream in each thread. wrap_stream takes both by CUDA's
//              handles 0, 1 and 2, and any stream that others made.
//   Copies     Between devices by cudaMemcpyPeerAsync. When the slot returns, a pageable source was
//              read and a pageable destination is written.
//   Fills      By the driver, in words of up to four bytes. For patterns of eight bytes, and for
//              ranges that are not aligned to their pattern, fill_pattern.hpp writes the pattern
//              once and doubles it by copies.
//   Events     One cudaEvent_t each. Elapsed times have the precision of CUDA's float milliseconds.
//   Captures   In CUDA's relaxed mode: any thread may end a capture, and memory may be allocated
//              meanwhile. The runtime itself refuses what CUDA would capture and the contract does
//              not allow: launches, and copies from or to pageable memory.
//   Errors     Texts have CUDA's name, number and words, and the function. After an error for which
//              CUDA demands that the process be relaunched, the device is lost: every later call on
//              it is DEVICE_LOST. No error stays behind for cudaGetLastError.
//   Fork       A child of a process that has started CUDA gets an error that says so; host_info
//              calls all memory pageable there.
//   Native     The device's handle is its CUdevice, a number. Those of context, streams and events
//              are CUcontext, cudaStream_t and cudaEvent_t.
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
///                      where CUDA does not start. If NVML and CUDA disagree, the number changes
///                      when CUDA starts, and a line on stderr says so.
///   device_info        Starts CUDA, as all others but host_info do. Makes no context, and neither
///                      do device_is_active and peer_can_access.
///   mem_alloc          Throws outback::out_of_memory with the free and the total bytes. Allowed
///                      during captures.
///   mem_free           Throws outback::invalid_argument unless `ptr` is null or device memory of
///                      this device. cudaFree may wait for the device.
///   mem_copy           May wait for the stream if one side is pageable host memory. In a capture
///                      that began here, pageable host memory breaks the capture and throws
///                      outback::invalid_argument.
///   mem_fill           Enqueues one fill, or a few fills and copies. Does not wait.
///   stream_create      `priority` is clamped to CUDA's range.
///   stream_destroy     Leaves a wrapped stream's handle as it is. If CUDA reports an error of
///                      earlier work, the stream is gone all the same. On a lost device the call
///                      frees what is ours and throws outback::device_lost. The same holds for
///                      event_destroy and graph_destroy.
///   event_elapsed      To half a microsecond or so for intervals of a few seconds. CUDA refuses
///                      events of two devices.
///   host_alloc         Pinned for all devices (cudaHostAllocPortable). Makes a context on some
///                      device if there is none.
///   host_info          Asks the runtime's own table first, then CUDA. Starts nothing and makes no
///                      context: without a context of ours, all memory is pageable.
///   host_register      Throws outback::invalid_argument if the range overlaps memory that this
///                      runtime pinned, and what CUDA says of other overlaps.
///   device_select      Calls cudaSetDevice, which makes the context. The only member that changes
///                      the thread's current device.
///   memory_usage       Of the whole device, all processes included. Makes a context.
///   peer_enable        Makes a context. Access that somebody else enabled is no error, and stays
///                      when it is disabled here.
///   native_device      The CUdevice, a number; device 0's is a null pointer.
///   native_context     The primary context, which the call makes if there is none. The runtime
///                      keeps it.
///   native_wrap_stream Throws outback::invalid_argument for a stream of another device, unless the
///                      stream is in a capture: then CUDA does not say whose it is. The caller
///                      keeps the stream alive.
///   callback_enqueue   Runs the callback on a thread of CUDA's.
///   ipc_get_memory, ipc_get_event
///                      CUDA's interprocess handles, with the device's UUID and the process in
///                      front. There is no descriptor.
///   ipc_open_memory    Throws outback::invalid_argument for a handle of this process, and for one
///                      of another device than `device`.
///   graph_status       Also reports captures that others began on the stream.
///   graph_launch       Throws outback::invalid_argument in a capture, which breaks.
///   telemetry_read     NVML's measurements. Throws outback::unsupported where NVML is missing or
///                      does not measure it.
class cuda_runtime {
 public:
  cuda_runtime() = default;
  /// For tests; the process's own instance is never destroyed. Everything that was made must be
  /// gone, and no work pending.
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
#if OUTBACK_CUDA_HAS_NVTX
  OUTBACK_MEMBERS_OF(ranges)
#endif

 private:
  // CUDA, which the first call starts. Throws what start_cuda throws.
  const machine& started();
  // What `started` does when CUDA is not started yet; takes start_mutex_.
  const machine& start();
  // As `started`, but throws outback::runtime_error in a forked child.
  const machine& usable();
  // The device with this index, also a lost one. Throws outback::invalid_argument if there is none.
  device& listed(int32_t index);
  // As `listed`, but throws outback::device_lost for a lost device.
  device& at(int32_t index);
  // A device for calls about host memory, which belongs to none: one that has a context, if there
  // is one. Throws outback::unsupported where there are no devices.
  device& host_device();

  // What the handle points to, checked to be the device's. The context must be current, because a
  // null handle may make the default stream.
  stream& stream_at(device& d, outback_stream handle);
  event& event_at(device& d, outback_event handle);
  graph& graph_at(device& d, outback_graph handle);

  // If the stream is in a capture, breaks the capture and throws outback::invalid_argument. For
  // what CUDA would take into a graph and the contract does not allow.
  void refuse_in_capture(device& d, const stream& s, const char* what);
  // Fills with a word of 1, 2 or 4 bytes. `to` is aligned to the word, and `size`, in bytes, is a
  // multiple of it.
  void fill_words(device& d, std::byte* to, std::size_t size, const std::byte* value,
                  std::size_t word, cudaStream_t where);

  std::mutex start_mutex_;
  std::atomic<machine*> machine_{nullptr};
  std::atomic<int32_t> counted_{-1};        // NVML's count; -1: not asked, or NVML cannot tell
  std::atomic<bool> did_not_start_{false};  // CUDA was tried at least once
  std::atomic<int32_t> captures_{0};        // begun here and not ended; 0 spares copies a question
  // CUDA says of a pointer whether it is pinned, but for registered memory it does not say where
  // the range begins and ends, which host_memory.info returns.
  pinned_ranges pinned_;
  // The devices, and the peers whose memory this runtime let them access. What another user of CUDA
  // enabled on the same context stays enabled when a backend disables its own peers.
  std::mutex peers_mutex_;
  std::set<std::pair<int32_t, int32_t>> peers_;
};

}  // namespace outback::cuda
