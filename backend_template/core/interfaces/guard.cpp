#include "backend_template/core/interfaces/guard.h"

#include <c10/core/AutogradState.h>
#include <c10/util/Exception.h>

#include <memory>
#include <utility>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/devices/dtypes.h"
#include "backend_template/core/interfaces/thread_count.h"
#include "backend_template/core/memory/device_allocator.h"
#include "backend_template/core/races/race_finder.h"
#include "backend_template/core/runtime/runtime.h"
#include "backend_template/core/runtime/torch_version.h"
#include "backend_template/core/streams/event.h"
#include "backend_template/core/streams/event_flag.h"
#include "backend_template/core/streams/kernel_faults.h"
#include "backend_template/core/streams/native.h"
#include "backend_template/core/streams/stream.h"
#include "backend_template/core/streams/sync_debug.h"
#include "backend_template/core/streams/twin_stream.h"
#include "backend_template/core/twin/twin.h"

namespace torch::autograd {
// Of torch/csrc/autograd/graph_task.h, whose includes would take the compiler seconds: -1 outside
// of a backward pass.
TORCH_API int get_current_graph_task_id();
}  // namespace torch::autograd

namespace outback::core {
namespace {

// c10's elapsedTime is in milliseconds.
constexpr double nanoseconds_per_millisecond = 1e6;

event& event_of(void* handle) {
  return *static_cast<event*>(handle);
}

// An event that the next recording of a new c10::Event takes over, instead of recording. c10::Event
// has no other way to hold an event that exists already. A plain pointer needs no destructor, so it
// can be used by static destructors, which run after the main thread's other variables are gone.
thread_local constinit event* adopted_next = nullptr;

// Lets the backward passes that this thread begins run in it, as the CPU's do. By default autograd
// has a thread for each device, which is well for devices that compute by themselves: it only
// enqueues. Here a CPU computes, and would do so on another core, away from what the forward pass
// has in the caches, while the caller sleeps. Once in each thread, so that what the program says of
// it later holds; and not within a backward pass, which was begun elsewhere.
void keep_backward_in_this_thread() {
  static thread_local constinit bool is_kept = false;
  if (is_kept || torch::autograd::get_current_graph_task_id() != -1) return;
  is_kept = true;
  c10::AutogradState::get_tls_state().set_multithreading_enabled(false);
}

[[noreturn]] C10_NOINLINE void refuse_other_type(c10::Device device) {
  TORCH_CHECK(false, "expected a ", backend_name(), " device, got ", device);
}

class guard final : public c10::impl::DeviceGuardImplInterface {
 public:
  c10::DeviceType type() const override { return device_type; }

  c10::Device exchangeDevice(c10::Device device) const override {
    return c10::Device(device_type, exchange_device(index_of(device)));
  }
  c10::Device getDevice() const override { return c10::Device(device_type, current_device()); }
  void setDevice(c10::Device device) const override {
    // A device without an index means the current one.
    if (index_of(device) >= 0) set_device(device.index());
  }
  void uncheckedSetDevice(c10::Device device) const noexcept override {
    set_device_unchecked(device.index());
  }
  // Autograd asks before it starts its threads.
  c10::DeviceIndex deviceCount() const noexcept override {
    renew_pool_after_fork();
    return device_count();
  }

  c10::DeviceCapability getDeviceCapability(c10::Device device) const override {
    // All devices have the same dtypes; the index only has to exist.
    check_index(resolve_index(index_of(device)));
    return capability();
  }

  // Autograd calls it for each node that it records.
  c10::Stream getStream(c10::Device device) const override {
    const c10::Stream stream = current_stream(index_of(device));
    if (runs_cpu_kernels(stream.device_index())) keep_backward_in_this_thread();
    return stream;
  }
  c10::Stream getDefaultStream(c10::Device device) const override {
    return default_stream(index_of(device));
  }
  c10::Stream getStreamFromGlobalPool(c10::Device device, bool high_priority) const override {
    return pool_stream(index_of(device), high_priority);
  }
  c10::Stream getNewStream(c10::Device device, int priority) const override {
    return new_stream(index_of(device), priority);
  }
  // Autograd calls it before each node of a backward pass.
  c10::Stream exchangeStream(c10::Stream stream) const override {
    follow_thread_count();
    return exchange_stream(stream);
  }
  void* getStreamNativeHandle(const c10::Stream stream) const override {
    if (runtime().native != nullptr || twins_stream(stream)) return native_stream(stream);
    TORCH_CHECK_NOT_IMPLEMENTED(
        runtime().streams != nullptr, backend_name(),
        ": this device's runtime has no streams, so a stream has no native handle");
    // Without the group native the runtime's own handle is the best that there is.
    return handle_of(stream);
  }
  bool queryStream(const c10::Stream& stream) const override {
    const bool is_over = query_stream(stream);
    if (is_over) note_host_wait(stream);
    return is_over;
  }
  void synchronizeStream(const c10::Stream& stream) const override {
    note_synchronizing();
    synchronize_stream(stream);
    note_host_wait(stream);
  }
  void synchronizeDevice(c10::DeviceIndex device) const override {
    synchronize_device(device);
    note_host_wait(device);
  }
#if OUTBACK_TORCH_AT_LEAST(2, 12)
  bool isStreamCapturing(const c10::Stream& stream) const override {
    return capture_status(stream) != OUTBACK_CAPTURE_NONE;
  }
#endif

  // `device` is the one of the last recording. The event may be recorded on another device now.
  void record(void** handle, const c10::Stream& stream, c10::DeviceIndex /*device*/,
              c10::EventFlag flag) const override {
    if (*handle != nullptr) return event_of(*handle).record(stream);
    // `adopt_event` below is the caller.
    if (adopted_next != nullptr) {
      *handle = std::exchange(adopted_next, nullptr);
      return;
    }
    // If recording fails, c10's event stays as it was, without one of ours.
    auto made = std::make_unique<event>(event_flags_in(flag));
    made->record(stream);
    *handle = made.release();
  }
  void block(void* handle, const c10::Stream& stream) const override {
    event_of(handle).block(stream);
  }
  bool queryEvent(void* handle) const override {
    const bool is_over = handle == nullptr || event_of(handle).query();
    if (handle != nullptr && is_over) event_of(handle).note_host_wait();
    return is_over;
  }
  void synchronizeEvent(void* handle) const override {
    if (handle == nullptr) return;
    const event& its = event_of(handle);
    its.synchronize();
    its.note_host_wait();
    if (its.device() >= 0) check_faults_after_event(its.device());
  }
  double elapsedTime(void* from, void* to, c10::DeviceIndex /*device*/) const override {
    return static_cast<double>(event_of(from).elapsed_ns(event_of(to))) /
           nanoseconds_per_millisecond;
  }
  void destroyEvent(void* handle, c10::DeviceIndex /*device*/) const noexcept override {
    delete static_cast<event*>(handle);
  }

  void recordDataPtrOnStream(const c10::DataPtr& memory, const c10::Stream& stream) const override {
    device_allocator().recordStream(memory, stream);
  }

 private:
  static c10::DeviceIndex index_of(c10::Device device) {
    if (C10_UNLIKELY(device.type() != device_type)) refuse_other_type(device);
    return device.index();
  }
};

}  // namespace

c10::Event adopt_event(event made, uint32_t flags) {
  // `record` wants a stream, and puts nothing on it.
  const c10::Stream somewhere = default_stream(made.device());
  c10::Event holder(device_type, event_flag_of(flags));
  // Last, since from here to `record` nothing may throw: the next recording takes this event.
  adopted_next = new event(std::move(made));
  holder.record(somewhere);
  return holder;
}

const event* event_in(const c10::Event& holder) {
  return static_cast<const event*>(holder.eventId());
}

const c10::impl::DeviceGuardImplInterface& device_guard_impl() {
  static const auto& implementation = *new guard;
  return implementation;
}

}  // namespace outback::core
