// NVIDIA's devices, through libcudart as it is found at run time, with all groups.
//
//   Start      Nothing is loaded before the first slot is called, and CUDA is not started before a
//              slot is called that needs it. device_count asks NVML, so that a process may fork
//              afterwards. Contexts are made on the devices that are used, and on no other. Where
//              CUDA does not start there are 0 devices, and each slot tries again, or says why.
//   Current    Every slot but device_state.select leaves the thread's current device as it was,
//              also where it has none: see current.hpp.
//   Streams    are non-blocking ones, the default stream too, which is one of ours for each device:
//              the legacy default stream waits for others and others for it, and the per-thread one
//              is another stream in every thread. wrap_stream takes both of those, by CUDA's
//              handles 0, 1 and 2, and any stream that was made by others.
//   Copies     Between devices by cudaMemcpyPeerAsync. A pageable source was read on return, a
//              pageable destination is written.
//   Fills      by the driver's, in words of up to four bytes. Patterns of eight bytes, and ranges
//              that are not aligned to their pattern, are one piece of it that copies double.
//   Events     One cudaEvent_t each. Times have the precision of CUDA's float milliseconds.
//   Captures   in CUDA's relaxed mode: any thread may end one, and allocations may go on meanwhile.
//              What CUDA would capture and the contract does not is refused here: launches and
//              copies from or to pageable memory.
//   Errors     The text has CUDA's name, number and words, and its function. An error after which
//              CUDA says that the process must be relaunched is DEVICE_LOST, then and for ever. No
//              error stays for cudaGetLastError.
//   Fork       A child of a process that has started CUDA gets an error that says so; host_info
//              knows of no pinned memory there.
//   Native     The device's handle is its CUdevice, a number; those of streams and events are
//              cudaStream_t and cudaEvent_t.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "backend_template/runtimes/cuda/device.hpp"
#include "backend_template/runtimes/cuda/event.hpp"
#include "backend_template/runtimes/cuda/graph.hpp"
#include "backend_template/runtimes/cuda/host_ranges.hpp"
#include "backend_template/runtimes/cuda/machine.hpp"
#include "backend_template/runtimes/cuda/peers.hpp"
#include "backend_template/runtimes/cuda/stream.hpp"
#include "outback/runtime.hpp"

namespace outback::cuda {

/// A class for `outback::table_of`; the members are told in outback/runtime.hpp.
class cuda_runtime {
 public:
  cuda_runtime() = default;
  /// Nothing that was made may be left, and no work pending.
  ~cuda_runtime();
  cuda_runtime(const cuda_runtime&) = delete;
  cuda_runtime& operator=(const cuda_runtime&) = delete;

  int32_t device_count();
  outback_device_info device_info(int32_t device);
  void device_sync(int32_t device);

  void* mem_alloc(int32_t device, std::size_t size);
  void mem_free(int32_t device, void* ptr);
  void mem_copy(void* dst, int32_t dst_device, const void* src, int32_t src_device,
                std::size_t size, outback_stream stream);
  void mem_fill(int32_t device, void* ptr, std::size_t size, const void* pattern,
                std::size_t pattern_size, outback_stream stream);

  outback_stream stream_create(int32_t device, int32_t priority);
  void stream_destroy(int32_t device, outback_stream stream);
  bool stream_query(int32_t device, outback_stream stream);
  void stream_sync(int32_t device, outback_stream stream);
  priority_range stream_priorities(int32_t device);

  outback_event event_create(int32_t device, uint32_t flags);
  void event_destroy(int32_t device, outback_event event);
  void event_record(int32_t device, outback_event event, outback_stream stream);
  void event_wait(int32_t device, outback_event event, outback_stream stream);
  bool event_query(int32_t device, outback_event event);
  void event_sync(int32_t device, outback_event event);
  std::optional<int64_t> event_elapsed(outback_event from, outback_event to);

  void* host_alloc(std::size_t size);
  void host_free(void* ptr);
  outback_pointer_info host_info(const void* ptr);
  void host_register(void* ptr, std::size_t size);
  void host_unregister(void* ptr);

  void device_select(int32_t device);
  bool device_is_active(int32_t device);
  memory_amount memory_usage(int32_t device);

  bool peer_can_access(int32_t device, int32_t peer);
  void peer_enable(int32_t device, int32_t peer);
  void peer_disable(int32_t device, int32_t peer);

  void* native_device(int32_t device);
  void* native_context(int32_t device);
  void* native_stream(int32_t device, outback_stream stream);
  void* native_event(int32_t device, outback_event event);
  outback_stream native_wrap_stream(int32_t device, void* handle);

  void callback_enqueue(int32_t device, outback_callback callback, void* data,
                        outback_stream stream);

  outback_ipc_handle ipc_get_memory(int32_t device, void* ptr);
  void* ipc_open_memory(int32_t device, const outback_ipc_handle& handle);
  void ipc_close_memory(int32_t device, void* ptr);
  outback_ipc_handle ipc_get_event(int32_t device, outback_event event);
  outback_event ipc_open_event(int32_t device, const outback_ipc_handle& handle);

  void graph_begin(int32_t device, outback_stream stream);
  outback_capture graph_status(int32_t device, outback_stream stream);
  outback_graph graph_end(int32_t device, outback_stream stream);
  void graph_instantiate(int32_t device, outback_graph graph);
  void graph_launch(int32_t device, outback_graph graph, outback_stream stream);
  void graph_destroy(int32_t device, outback_graph graph);

  int64_t telemetry_read(int32_t device, outback_metric metric);
  std::vector<outback_process> telemetry_processes(int32_t device);

 private:
  /// Starts CUDA where it is not.
  const machine& started();
  const machine& start();
  /// Also checks that the process was not forked.
  const machine& usable();
  /// Any device there is, also one that was lost.
  device& listed(int32_t index);
  /// One that was not lost.
  device& at(int32_t index);
  /// A device to ask about host memory on, which belongs to none: one with a context, if there is.
  device& host_device();

  /// The context of the device must be current.
  stream& stream_at(device& d, outback_stream handle);
  event& event_at(device& d, outback_event handle);
  graph& graph_at(device& d, outback_graph handle);

  /// Throws, and breaks the capture that the stream is in, if it is in one. For what CUDA would
  /// take into a graph and the contract does not.
  void refuse_in_capture(device& d, const stream& s, const char* what);
  /// Words of 1, 2 or 4 bytes, which `to` is aligned to.
  void fill_words(device& d, std::byte* to, std::size_t size, const std::byte* value,
                  std::size_t word, cudaStream_t where);

  std::mutex start_mutex_;
  std::atomic<machine*> machine_{nullptr};
  std::atomic<int32_t> counted_{-1};        // by NVML, before CUDA was started
  std::atomic<bool> did_not_start_{false};  // CUDA, when it was last tried
  std::atomic<int32_t> captures_{0};        // that were begun here and not ended
  host_ranges host_ranges_;
  peers peers_;
};

}  // namespace outback::cuda
