#include "backend_template/core/interfaces/hooks.h"

#include <ATen/Context.h>
#include <ATen/core/CachingHostAllocator.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/Storage.h>
#include <c10/util/Exception.h>

#include <string>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/devices/dtypes.h"
#include "backend_template/core/devices/lazy_start.h"
#include "backend_template/core/devices/visible_devices.h"
#include "backend_template/core/interfaces/generator.h"
#include "backend_template/core/interfaces/thread_count.h"
#include "backend_template/core/kernel_services.h"
#include "backend_template/core/kernels/declined_calls.h"
#include "backend_template/core/kernels/packed_list.h"
#include "backend_template/core/memory/copy.h"
#include "backend_template/core/memory/device_allocator.h"
#include "backend_template/core/memory/exit.h"
#include "backend_template/core/memory/host_allocator.h"
#include "backend_template/core/memory/storage.h"
#include "backend_template/core/runtime/runtime.h"
#include "backend_template/core/streams/launches.h"
#include "backend_template/core/streams/native.h"
#include "backend_template/core/streams/stream.h"
#include "backend_template/core/timeline/timeline.h"
#include "backend_template/core/twin/twin.h"

namespace outback::core {
namespace {

// For a profile: the kernel that the calling thread launches, from the question for the stream's
// handle to the report that it has work.
thread_local piece launch;

// torch finds the first base, and native kernels find the second one by dynamic_cast from it.
struct hooks final : at::PrivateUse1HooksInterface, kernel_services {
  bool isBuilt() const override { return true; }
  // Counts devices without starting the driver, as torch asks of this function.
  bool isAvailable() const override { return core::device_count() > 0; }
  void init() const override { ensure_started(); }

  // Autograd asks it where a backward pass begins, in the thread that wants the gradients.
  bool hasPrimaryContext(c10::DeviceIndex device) const override {
    note_thread_count();
    const c10::DeviceIndex index = resolve_index(device);
    if (const auto twin = started_twin_of(index)) {
      const auto& theirs = at::globalContext().getAcceleratorHooksInterface(twin->type());
      return theirs.hasPrimaryContext(twin->index());
    }
    const outback_device_state* state = core::runtime().device_state;
    // Without the slot, assume that the start made a context on every device.
    if (state == nullptr) return is_started();
    const auto ask = [&](int32_t* active) {
      return state->is_active(core::runtime().self, index, active);
    };
    return answer_of<int32_t>(ask, "active", "device_state.is_active", index) != 0;
  }

  c10::DeviceIndex deviceCount() const override { return device_count(); }
  void setCurrentDevice(c10::DeviceIndex device) const override { set_device(device); }
  c10::DeviceIndex getCurrentDevice() const override { return current_device(); }
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex device) const override {
    return core::exchange_device(device);
  }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex device) const override {
    return core::exchange_device(device);
  }

  const at::Generator& getDefaultGenerator(c10::DeviceIndex device) const override {
    return default_generator(device);
  }
  at::Generator getNewGenerator(c10::DeviceIndex device) const override {
    return at::make_generator<generator>(resolve_index(device));
  }

  bool isPinnedPtr(const void* data) const override { return is_pinned(data); }
  at::Allocator* getPinnedMemoryAllocator() const override { return &host_allocator(); }

  // Only the runtime knows whose memory a pointer is.
  c10::Device getDeviceFromPtr(void* data) const override {
    TORCH_CHECK_NOT_IMPLEMENTED(
        core::runtime().host_memory != nullptr, core::backend_name(),
        ": the device of a pointer is not known, since this device's runtime has no "
        "host_memory.info");
    const int32_t index = pointer_info(data).device;
    TORCH_CHECK(index != OUTBACK_HOST, core::backend_name(),
                ": the pointer is host memory: expected memory of a device");
    return c10::Device(device_type, static_cast<c10::DeviceIndex>(index));
  }

  void resizePrivateUse1Bytes(const c10::Storage& storage, size_t size) const override {
    resize_storage(*storage.unsafeGetStorageImpl(), size);
  }

  // ---- kernel_services
  const outback_runtime& runtime() const noexcept override { return core::runtime(); }
  const std::string& backend_name() const noexcept override { return core::backend_name(); }
  void check(outback_status status, const char* slot) const override { core::check(status, slot); }
  c10::Stream current_stream(c10::DeviceIndex device) const override {
    return core::current_stream(device);
  }
  outback_stream handle_of(const c10::Stream& stream) const override {
    const outback_stream handle = core::handle_of(stream);
    if (is_recording()) launch.begin(work::kernel, stream, handle, 0);
    return handle;
  }
  void synchronize_stream(const c10::Stream& stream) const override {
    // The kernel computes on the calling thread, when the stream is idle.
    if (is_recording()) launch.drop();
    core::synchronize_stream(stream);
    note_in_place(stream.device_index(), stream.id());
  }
  void mark_busy(const c10::Stream& stream) const override {
    if (is_recording()) launch.enqueued();
    core::mark_launched_quietly(stream);
  }
  void* native_stream(const c10::Stream& stream) const override {
    return core::native_stream(stream);
  }
  int32_t runtime_device(c10::DeviceIndex device) const override {
    return core::runtime_device(device);
  }
  c10::DeviceIndex exchange_device(c10::DeviceIndex device) const override {
    return core::exchange_device(device);
  }
  void set_device_unchecked(c10::DeviceIndex device) const noexcept override {
    core::set_device_unchecked(device);
  }
  void check_dtype(c10::ScalarType dtype) const override { core::check_dtype(dtype); }
  const c10::KernelFunction* kernel_after_vendors(const c10::OperatorHandle& op) const override {
    return core::kernel_after_vendors(op);
  }
  std::span<const packed_module> packed_modules() const noexcept override {
    return core::packed_modules();
  }
  void give_back_at_exit(void (*give_back)() noexcept) const override {
    core::give_back_at_exit(give_back);
  }
  c10::Allocator& device_allocator() const override { return core::device_allocator(); }
};

}  // namespace

at::PrivateUse1HooksInterface& accelerator_hooks() {
  static auto& implementation = *new hooks;
  return implementation;
}

}  // namespace outback::core
